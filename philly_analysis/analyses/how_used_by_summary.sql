-- How busy were the GPUs of each user's attempts, by a monitor's summary?
-- One row per day, user and level of the attempts' mean utilisation.
--   day       day of the attempts' ends, UTC; null: not known
--   user      user who submitted the jobs; null: not recorded
--   level     lowest utilisation of the quarter in %: 0, 25, 50 or 75; -1: exactly 0 %
--   attempts  attempts with a summary and a known run time
--   gpu_h     GPU hours allocated to the attempts
--   busy_h    GPU hours times utilisation: the hours for which the GPUs were busy
select
  attempts.ended_at::date as day,
  s.user,
  case when s.mean_pct = 0 then -1 else 25 * (ceil(s.mean_pct / 25) - 1) end as level,
  count(*) as attempts,
  total(s.gpu_h) as gpu_h,
  total(s.gpu_h * s.mean_pct) / 100 as busy_h
from summarised_attempts as s
inner join attempts using (job_id, attempt)
where s.gpu_h > 0
group by all
order by all
