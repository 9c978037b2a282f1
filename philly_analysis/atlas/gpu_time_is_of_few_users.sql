-- What does each user cost?
-- One row per known user with a job of the workload, on GPUs.
--   user   who submitted them
--   jobs   jobs
--   gpu_h  GPU hours that they ran for, up to the end of the log
select
  "user",
  count(*) as jobs,
  -- in order, so that its last digits do not depend on the order of rows
  sum(gpu_h order by gpu_h) as gpu_h
from workload_jobs
where left_out is null and "user" is not null
group by all
order by all
