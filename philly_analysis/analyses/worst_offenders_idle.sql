-- Whose GPUs stood at 0 % for how long?
-- One row per job with a reading of a GPU that no other attempt had meanwhile.
--   job_id  job
--   user    who submitted it; null: not known
--   gpu_h   GPU hours with a reading
--   lost_h  of these, at exactly 0 %
select
  job_id,
  "user",
  sum(minutes) / 60 as gpu_h,
  sum(idle_min) / 60 as lost_h
from attempt_use
where minutes > 0
group by all
order by all
