-- How many GPU hours does each user use?
-- One row per recorded user with a job of the workload on GPUs.
--   user   user who submitted the jobs
--   jobs   jobs
--   gpu_h  GPU hours that the jobs ran for, up to the end of the log
select
  "user",
  count(*) as jobs,
  -- ordered, so that the last digits of the sum do not depend on the order of rows
  total(gpu_h) as gpu_h
from workload_jobs
where left_out is null and "user" is not null
group by all
order by all
