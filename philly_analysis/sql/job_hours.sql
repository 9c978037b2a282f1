-- materialized by job_id
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
with times as (
  select
    job_id,
    run_s * gpus as gpu_s,
    null as wait_s
  from attempt_runs
  union all
  select
    job_id,
    null as gpu_s,
    wait_s
  from trusted_waits
),

sums as (
  select
    job_id,
    sum(gpu_s) / 3600 as gpu_h,
    sum(wait_s) / 3600 as wait_h
  from times
  group by job_id
)

select
  jobs.job_id,
  coalesce(jobs.user, '(none)') as "user",
  coalesce(jobs.account, '(none)') as account,
  jobs.gpus,
  jobs.submitted_at,
  jobs.status,
  coalesce(sums.gpu_h, 0) as gpu_h,
  sums.wait_h
from gpu_jobs as jobs
left join sums using (job_id)
