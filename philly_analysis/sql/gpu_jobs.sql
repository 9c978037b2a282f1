-- by job_id
-- Which jobs do the findings cover?
-- One row per job that requested GPUs, or whose request is not recorded; overview counts the jobs
-- without GPUs.
--   job_id        identifier of the job
--   vc            virtual cluster
--   account       account or project that is charged for the job
--   user          user who submitted the job
--   gpus          gang size; null: not recorded
--   gpu_frac      share of each GPU that the job requests, above 0 to 1
--   submitted_at  time at which the job was submitted
--   eligible_at   time from which the job waits only for resources
--   time_limit_s  run time in seconds after which the job is killed
--   status        status with which the job ended
--   flag          reason for which the times are not trusted; null: the times are trusted
select
  job_id,
  vc,
  account,
  "user",
  gpus,
  coalesce(gpu_frac, 1) as gpu_frac,
  submitted_at,
  eligible_at,
  time_limit_s,
  status,
  flag
from jobs
where gpus is distinct from 0
