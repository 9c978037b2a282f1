-- How busy were the GPUs of attempts of which only a summary is known, by gang size and status?
-- One row per (gpus, status, percentile).
--   gpus        GPUs allocated to the attempt; null: all sizes
--   status      how the job ended; null: however it ended
--   attempts    attempts with a mean
--   gpu_h       GPU-hours that they ran for; those whose time is not known have none
--   mean_pct    mean over these GPU-hours of the attempts' means
--   percentile  0 to 100
--   util_pct    mean utilisation that this share of attempts does not exceed
select
  gpus,
  status,
  count(*) as attempts,
  coalesce(sum(gpu_h), 0) as gpu_h,
  sum(mean_pct * gpu_h) / nullif(sum(gpu_h), 0) as mean_pct,
  unnest(range(101)) as percentile,
  unnest(percentiles(mean_pct)) as util_pct
from summarised_attempts
group by cube (gpus, status)
having count(*) > 0
order by all
