-- How long do unsuccessful jobs run?
-- One row per unsuccessful job on GPUs with a known run time.
--   user   user who submitted the job
--   day    day on which the job was submitted, UTC
--   run_s  seconds that the job's last attempt ran
select
  "user",
  submitted_at::date as day,
  last_s as run_s
from job_runs
where failed(status) and gpus is not null and flag is null and last_s is not null and not censored
order by all
