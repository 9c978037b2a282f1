-- How busy were the GPUs of attempts with a monitor's summary, by gang size and status?
-- One row per (gpus, status, percentile).
--   gpus        GPUs allocated to the attempt; null: all gang sizes
--   status      status with which the job ended; null: all jobs
--   attempts    attempts with a mean utilisation
--   gpu_h       GPU hours that the attempts ran for; attempts without a known run time count zero
--   mean_pct    mean of the attempts' mean utilisation in %, weighted by GPU hours
--   percentile  percentile, 0 to 100
--   util_pct    mean utilisation that `percentile` % of the attempts do not exceed
select
  gpus,
  status,
  count(*) as attempts,
  coalesce(total(gpu_h), 0) as gpu_h,
  total(mean_pct * gpu_h) / nullif(total(gpu_h), 0) as mean_pct,
  unnest(range(101)) as percentile,
  unnest(percentiles(mean_pct)) as util_pct
from summarised_attempts
group by cube (gpus, status)
having count(*) > 0
order by all
