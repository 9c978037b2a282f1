-- What does each job cost?
-- One row per job of the workload, on GPUs.
--   user   who submitted it
--   day    day of its submission, UTC
--   gpu_h  GPU hours that it ran for, up to the end of the log
select
  "user",
  submitted_at::date as day,
  gpu_h
from workload_jobs
where left_out is null
order by all
