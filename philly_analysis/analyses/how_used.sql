-- How busy were the GPUs of each user's attempts, as samples show?
-- One row per user with a reading of a GPU that no other attempt had meanwhile.
--   user      who submitted them; null: not known
--   attempts  attempts with readings
--   gpu_h     GPU hours with a reading
--   idle_h    of these, at exactly 0 %
--   busy_h    of these, the part that the GPUs were busy: readings times hours
select
  "user",
  count(*) as attempts,
  sum(minutes) / 60 as gpu_h,
  sum(idle_min) / 60 as idle_h,
  sum(sum_pct) / 6000 as busy_h
from attempt_use
where minutes > 0
group by all
order by all
