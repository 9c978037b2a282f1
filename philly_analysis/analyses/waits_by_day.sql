-- How do waits change from day to day?
-- One row per day on which a trusted wait began.
--   day         day, UTC
--   waits       attempts that began to wait on the day
--   zeros       attempts that waited zero seconds
--   p50_s       median wait in seconds
--   p90_s       90th percentile of the waits in seconds
--   longest_s   longest wait in seconds
--   gpu_wait_h  sum of waits times gang sizes, in GPU hours
select
  since_at::date as day,
  count(*) as waits,
  count(*) filter (where wait_s = 0) as zeros,
  quantile_cont(wait_s, 0.5) as p50_s,
  quantile_cont(wait_s, 0.9) as p90_s,
  max(wait_s) as longest_s,
  total(wait_s * gpus) / 3600 as gpu_wait_h
from trusted_waits
group by all
order by all
