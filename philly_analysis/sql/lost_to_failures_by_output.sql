-- How many GPU hours did each job lose to failures, by statuses and retries or by output?
-- One row per job that lost GPU hours to failures.
--   job_id  identifier of the job
--   user    user who submitted the job; null: not recorded
--   lost_h  GPU hours allocated to the job's failed attempts until they failed
with failed as (
  select
    job_id,
    attempt,
    "user",
    gpu_h
  from status_failures
  union
  select
    job_id,
    attempt,
    "user",
    gpu_h
  from failed_attempts
)

select
  job_id,
  "user",
  sum(gpu_h) as lost_h
from failed
where gpu_h > 0
group by all
