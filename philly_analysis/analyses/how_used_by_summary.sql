-- How busy were the GPUs of each user's attempts, as a monitor summarised it?
-- One row per user and level of the attempts' means.
--   user      who submitted them; null: not known
--   level     the least percent of it, a quarter each; -1: exactly 0 %
--   attempts  attempts with a summary and a known run time
--   gpu_h     GPU hours allocated to them
--   busy_h    of these, the part that the GPUs were busy
select
  "user",
  case when mean_pct = 0 then -1 else 25 * (ceil(mean_pct / 25) - 1) end as level,
  count(*) as attempts,
  sum(gpu_h) as gpu_h,
  sum(gpu_h * mean_pct) / 100 as busy_h
from summarised_attempts
where gpu_h > 0
group by all
order by all
