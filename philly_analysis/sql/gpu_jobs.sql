-- Which jobs are the findings about?
-- One row per job that asked for GPUs, or of which it is not known; overview counts the others.
--   job_id        job
--   vc            virtual cluster
--   account       account or project that it is charged to
--   user          who submitted it
--   gpus          gang size; null: never known
--   gpu_frac      share of each GPU that it asks for, above 0 to 1
--   submitted_at  when it was submitted
--   eligible_at   when nothing but resources kept it waiting
--   time_limit_s  run time after which it is killed
--   status        how it ended
--   flag          why the row is not trusted; null: nothing known
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
