-- How busy are the GPUs of jobs, by gang size and job status?
-- One row per (gpus, status, percentile).
--   gpus        GPUs allocated to the attempt; null: all gang sizes
--   status      status with which the job ended; null: all jobs
--   attempts    attempts that have a utilisation reading
--   gpu_h       GPU hours that have a utilisation reading
--   idle_pct    share of the GPU-minutes with a reading of exactly 0 %
--   mean_pct    mean utilisation over all GPU-minutes, %
--   percentile  percentile, 0 to 100
--   util_pct    utilisation that `percentile` % of the GPU-minutes do not exceed, from a histogram
--               of whole percents
with groups as (
  select
    { 'gpus': gpus, 'status': status } as key,
    count(*) as attempts,
    total(minutes) as minutes,
    total(idle_min) as idle_min,
    total(sum_pct) as sum_pct
  from sampled_attempts
  group by cube (gpus, status)
),

bins as (
  select
    { 'gpus': gpus, 'status': status } as key,
    bin,
    total(minutes) as minutes
  from gpu_util_bins
  group by cube (gpus, status), bin
)

select
  groups.key.gpus,
  groups.key.status,
  groups.attempts,
  groups.minutes / 60 as gpu_h,
  100 * groups.idle_min / groups.minutes as idle_pct,
  groups.sum_pct / groups.minutes as mean_pct,
  curves.percentile,
  curves.util_pct
from groups
inner join bin_percentiles(bins) as curves using (key)
order by all
