-- How long and on how many GPUs did attempts run that failed for a known reason?
-- One row per failed attempt whose output is known.
--   job_id    identifier of the job
--   attempt   number of the attempt within its job, from 1
--   user      user who submitted the job
--   vc        virtual cluster
--   status    status with which the job ended after its last attempt
--   reason    reason for which the attempt failed
--   tier      tiers of the reason, joined by +
--   fine      finer class of the reason; null: none
--   gpus      GPUs allocated to the attempt; null: not known
--   demand    demand bucket of the study (1, 2-4 or >4 GPUs); null: not known
--   run_s     run time to failure in seconds; null: not known, or the times are not trusted
--   gpu_h     GPU hours of the attempt until it failed; null: not known
--   followed  true when the job was retried
--   first     true for the first attempt of the job
with spans as (
  select
    job_id,
    min(attempt) as first_attempt,
    max(attempt) as last_attempt
  from attempts
  group by job_id
)

select
  failures.job_id,
  failures.attempt,
  jobs.user,
  jobs.vc,
  jobs.status,
  failures.reason,
  coalesce(failures.tier, '') as tier,
  failures.fine,
  coalesce(made.gpus, jobs.gpus) as gpus,
  demand_bucket(coalesce(made.gpus, jobs.gpus)) as demand,
  case when runs.flag is null then runs.run_s end as run_s,
  case when runs.flag is null then runs.run_s * runs.gpus / 3600 end as gpu_h,
  failures.attempt < spans.last_attempt as followed,
  failures.attempt = spans.first_attempt as first
from failures
inner join gpu_jobs as jobs using (job_id)
inner join spans using (job_id)
inner join attempts as made using (job_id, attempt)
left join attempt_runs as runs using (job_id, attempt)
