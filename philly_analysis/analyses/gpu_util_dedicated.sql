-- How busy are the GPUs of gangs on dedicated servers?
-- One row per (gpus, percentile), for gangs of two GPUs or more with every GPU of the fewest
-- servers that hold them.
--   gpus        GPUs allocated to the attempt
--   servers     distinct servers that an attempt ran on
--   attempts    attempts that have a utilisation reading
--   gpu_h       GPU hours that have a utilisation reading
--   idle_pct    share of the GPU-minutes with a reading of exactly 0 %
--   mean_pct    mean utilisation over all GPU-minutes, %
--   percentile  percentile, 0 to 100
--   util_pct    utilisation that `percentile` % of the GPU-minutes do not exceed, to within a point
with groups as (
  select
    gpus,
    servers,
    count(*) as attempts,
    total(minutes) as minutes,
    total(idle_min) as idle_min,
    total(sum_pct) as sum_pct
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
