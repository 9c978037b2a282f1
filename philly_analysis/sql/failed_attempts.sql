-- How long did each attempt run that is known to have failed for a reason, and on how many GPUs?
-- One row per failed attempt whose output is known.
--   job_id      job
--   attempt     which attempt, from 1
--   user        who submitted it
--   vc          virtual cluster
--   status      how the job ended after all its attempts
--   reason      why the attempt failed
--   tier        tiers of the reason, joined by +
--   fine        finer cause; null: none
--   gpus        GPUs allocated to it; null: unknown
--   demand      the study's demand buckets; null: unknown
--   run_s       run time to failure; null: unknown or its times not trusted
--   gpu_h       GPU hours until it failed; null: unknown
--   followed    true when the job was retried
--   first       true when it was the job's first attempt
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
