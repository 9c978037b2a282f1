-- How long do passed jobs of each user and kind run?
-- One row per passed job with a known run time.
--   job_id    identifier of the job
--   user      user who submitted the job; null: not recorded
--   job_type  kind of job; null: not recorded
--   gpus      gang size
--   run_s     run time of the job in seconds, by the run policy's definition
select
  jobs.job_id,
  jobs."user",
  jobs.job_type,
  jobs.gpus,
  runs.run_s
from jobs
inner join trusted_runs as runs using (job_id)
where
  jobs.gpus > 0
  and jobs.status = 'Pass'
  and not runs.censored
  and runs.run_s > 0
