-- How busy were the GPUs of each user's attempts, as samples show?
-- One row per (day, user) with a reading of a GPU that no other attempt had meanwhile.
--   day       day of the attempts' ends, UTC
--   user      who submitted them; null: not known
--   attempts  attempts with readings
--   gpu_h     GPU hours with a reading
--   idle_h    of these, at exactly 0 %
--   busy_h    of these, the part that the GPUs were busy: readings times hours
select
  attempts.ended_at::date as day,
  u.user,
  count(*) as attempts,
  sum(u.minutes) / 60 as gpu_h,
  sum(u.idle_min) / 60 as idle_h,
  sum(u.sum_pct) / 6000 as busy_h
from attempt_use as u
inner join attempts using (job_id, attempt)
where u.minutes > 0
group by all
order by all
