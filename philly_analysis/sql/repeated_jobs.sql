-- How long do a user's repeated jobs run, by gang size?
-- One row per user, kind of job and gang size with passed jobs.
--   user      user who submitted the jobs
--   job_type  kind of job; null: not recorded
--   gpus      gang size
--   runs      passed jobs with a known run time
--   run_s     median run time of the passed jobs in seconds, by the run policy's definition
with passed as (
  select
    jobs."user",
    jobs.job_type,
    jobs.gpus,
    runs.run_s
  from jobs
  inner join trusted_runs as runs using (job_id)
  where
    jobs."user" is not null
    and jobs.gpus > 0
    and jobs.status = 'Pass'
    and not runs.censored
    and runs.run_s > 0
)

select
  "user",
  job_type,
  gpus,
  count(*) as runs,
  median(run_s) as run_s
from passed
group by all
