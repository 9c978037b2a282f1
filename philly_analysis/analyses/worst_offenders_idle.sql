-- Whose GPUs were idle (0 %), and for how many GPU hours?
-- One row per job with a reading of a GPU that no other attempt had at the same time.
--   job_id  identifier of the job
--   user    user who submitted the job; null: not recorded
--   gpu_h   GPU hours that have a utilisation reading
--   lost_h  GPU hours with a reading of exactly 0 %
select
  job_id,
  "user",
  total(minutes) / 60 as gpu_h,
  total(idle_min) / 60 as lost_h
from attempt_use
where minutes > 0
group by all
order by all
