-- How many GPU hours does each job use?
-- One row per job of the workload on GPUs.
--   user   user who submitted the job
--   day    day on which the job was submitted, UTC
--   gpu_h  GPU hours that the job ran for, up to the end of the log
select
  "user",
  submitted_at::date as day,
  gpu_h
from workload_jobs
where left_out is null
order by all
