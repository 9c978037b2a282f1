-- How busy are the GPUs of gangs that have their servers to themselves?
-- One row per (gpus, percentile); gangs of two GPUs and more that had every GPU of each of
-- their servers, on no more servers than they need.
--   gpus        GPUs allocated to the attempt
--   servers     distinct servers that they are on
--   attempts    attempts with a reading
--   gpu_h       GPU-hours with a reading
--   idle_pct    share of them at exactly 0 %
--   mean_pct    mean utilisation, every GPU-minute alike
--   percentile  0 to 100
--   util_pct    utilisation that this share of GPU-minutes does not exceed, to within a point
with groups as (
  select
    gpus,
    servers,
    count(*) as attempts,
    sum(minutes) as minutes,
    sum(idle_min) as idle_min,
    sum(sum_pct) as sum_pct
  from sampled_attempts
  where gpus > 1 and dedicated
  group by gpus, servers
),

bins as (
  select
    gpus as key,
    bin,
    minutes
  from gpu_util_bins
  where dedicated
)

select
  groups.gpus,
  groups.servers,
  groups.attempts,
  groups.minutes / 60 as gpu_h,
  100 * groups.idle_min / groups.minutes as idle_pct,
  groups.sum_pct / groups.minutes as mean_pct,
  curves.percentile,
  curves.util_pct
from groups
inner join bin_percentiles(bins) as curves
  on groups.gpus = curves.key
order by all
