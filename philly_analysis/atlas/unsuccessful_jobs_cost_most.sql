-- How many GPU hours do jobs use, by final status?
-- One row per (user, day, status), over jobs on GPUs with a known status.
--   user    user who submitted the job
--   day     day on which the job was submitted, UTC
--   status  status with which the job ended
--   jobs    jobs
--   gpu_h   GPU hours allocated to the jobs' attempts
select
  "user",
  submitted_at::date as day,
  status,
  count(*) as jobs,
  coalesce(total(gpu_h), 0) as gpu_h
from job_runs
where status is not null and gpus is not null and flag is null
group by all
order by all
