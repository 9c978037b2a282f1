-- How busy are a gang's GPUs, by the number of its servers?
-- One row per (gpus, servers, percentile), for gangs of two GPUs or more.
--   gpus        GPUs allocated to the attempt
--   servers     distinct servers that an attempt ran on
--   attempts    attempts that have a utilisation reading
--   users       users of the attempts
--   gpu_h       GPU hours that have a utilisation reading
--   mean_pct    mean utilisation over all GPU-minutes, %
--   percentile  percentile, 0 to 100
--   util_pct    utilisation that `percentile` % of the GPU-minutes do not exceed, to within a point
with groups as (
  select
    { 'gpus': gpus, 'servers': servers } as key,
    count(*) as attempts,
    count(distinct "user") as users,
    total(minutes) as minutes,
    total(sum_pct) as sum_pct
  from sampled_attempts
  where gpus > 1
  group by all
),

bins as (
  select
    { 'gpus': gpus, 'servers': servers } as key,
    bin,
    minutes
  from gpu_util_bins
)

select
  groups.key.gpus,
  groups.key.servers,
  groups.attempts,
  groups.users,
  groups.minutes / 60 as gpu_h,
  groups.sum_pct / groups.minutes as mean_pct,
  curves.percentile,
  curves.util_pct
from groups
inner join bin_percentiles(bins) as curves using (key)
order by all
