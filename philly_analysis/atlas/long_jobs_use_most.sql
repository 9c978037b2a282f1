-- How are jobs and their GPU time distributed over run times?
-- One row per (user, day, length), over the GPU jobs of the workload.
--   user    user who submitted the job
--   day     day on which the job was submitted, UTC
--   length  class of run time: up to an hour, up to a day, or longer
--   jobs    number of jobs
--   gpu_h   GPU hours that the jobs ran for, up to the end of the log
select
  "user",
  submitted_at::date as day,
  case when run_s <= 3600 then 'an hour' when run_s <= 86400 then 'a day' else 'longer' end
    as length,
  count(*) as jobs,
  -- ordered, so that the last digits of the sum do not depend on the order of rows
  total(gpu_h) as gpu_h
from workload_jobs
where left_out is null
group by all
order by all
