-- How do waits change from day to day?
-- One row per day on which a trusted wait began.
--   day         day, UTC
--   waits       attempts that began to wait
--   zeros       of these, attempts that did not wait at all
--   p50_s       median wait
--   p90_s       wait that 90 % do not exceed
--   longest_s   longest wait
--   gpu_wait_h  waits times gang sizes, summed
select
  since_at::date as day,
  count(*) as waits,
  count(*) filter (where wait_s = 0) as zeros,
  quantile_cont(wait_s, 0.5) as p50_s,
  quantile_cont(wait_s, 0.9) as p90_s,
  max(wait_s) as longest_s,
  sum(wait_s * gpus) / 3600 as gpu_wait_h
from trusted_waits
group by all
order by all
