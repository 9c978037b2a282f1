-- How busy were the GPUs of each user's attempts, as a monitor summarised it?
-- One row per day, user and level of the attempts' means.
--   day       day of the attempts' ends, UTC; null: not known
--   user      who submitted them; null: not known
--   level     the least percent of it, a quarter each; -1: exactly 0 %
--   attempts  attempts with a summary and a known run time
--   gpu_h     GPU hours allocated to them
--   busy_h    of these, the part that the GPUs were busy
select
  attempts.ended_at::date as day,
  s.user,
  case when s.mean_pct = 0 then -1 else 25 * (ceil(s.mean_pct / 25) - 1) end as level,
  count(*) as attempts,
  sum(s.gpu_h) as gpu_h,
  sum(s.gpu_h * s.mean_pct) / 100 as busy_h
from summarised_attempts as s
inner join attempts using (job_id, attempt)
where s.gpu_h > 0
group by all
order by all
