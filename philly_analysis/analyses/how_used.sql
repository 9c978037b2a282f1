-- How busy were the GPUs of each user's attempts, by samples?
-- One row per (day, user) with a reading of a GPU that no other attempt had at the same time.
--   day       day of the attempts' ends, UTC
--   user      user who submitted the jobs; null: not recorded
--   attempts  attempts that have a utilisation reading
--   gpu_h     GPU hours that have a utilisation reading
--   idle_h    GPU hours with a reading of exactly 0 %
--   busy_h    GPU hours times utilisation: the hours for which the GPUs were busy
select
  attempts.ended_at::date as day,
  u.user,
  count(*) as attempts,
  total(u.minutes) / 60 as gpu_h,
  total(u.idle_min) / 60 as idle_h,
  total(u.sum_pct) / 6000 as busy_h
from attempt_use as u
inner join attempts using (job_id, attempt)
where u.minutes > 0
group by all
order by all
