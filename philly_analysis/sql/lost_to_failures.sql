-- How many GPU hours did each job lose to failures, by statuses and retries alone?
-- One row per job that lost GPU hours to failures.
--   job_id  identifier of the job
--   user    user who submitted the job; null: not recorded
--   lost_h  GPU hours allocated to the job's failed attempts until they failed
select
  job_id,
  "user",
  sum(gpu_h) as lost_h
from status_failures
where gpu_h > 0
group by all
