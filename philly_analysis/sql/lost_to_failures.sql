-- How many GPU hours did each job lose to failures, by statuses and retries alone?
-- One row per job that lost any.
--   job_id  job
--   user    who submitted it; null: not known
--   lost_h  GPU hours allocated to its failed attempts until they failed
select
  job_id,
  "user",
  sum(gpu_h) as lost_h
from status_failures
where gpu_h > 0
group by all
order by all
