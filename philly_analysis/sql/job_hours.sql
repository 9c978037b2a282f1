-- How long did each job hold GPUs and wait?
-- One row per job in gpu_jobs.
--   job_id        identifier of the job
--   user          user who submitted the job; (none): not recorded
--   account       account or project that is charged for the job; (none): not recorded
--   gpus          gang size; null: not recorded
--   submitted_at  time at which the job was submitted
--   status        status with which the job ended
--   gpu_h         GPU hours that the job's attempts held; 0: no attempt with a known run time
--   wait_h        hours that the job's attempts waited; null: no trusted wait
with runs as (
  select
    job_id,
    sum(run_s * gpus) / 3600 as gpu_h
  from attempt_runs
  group by job_id
),

delays as (
  select
    job_id,
    sum(wait_s) / 3600 as wait_h
  from trusted_waits
  group by job_id
)

select
  jobs.job_id,
  coalesce(jobs.user, '(none)') as "user",
  coalesce(jobs.account, '(none)') as account,
  jobs.gpus,
  jobs.submitted_at,
  jobs.status,
  coalesce(runs.gpu_h, 0) as gpu_h,
  delays.wait_h
from gpu_jobs as jobs
left join runs using (job_id)
left join delays using (job_id)
