-- How many GPU hours did each job's failed attempts cost?
-- One row per job with an attempt that failed, by statuses and retries alone.
--   job_id    job
--   user      who submitted it; null: not known
--   attempts  attempts that failed
--   lost_h    GPU hours allocated to them until then
select
  job_id,
  "user",
  count(*) as attempts,
  sum(gpu_h) as lost_h
from status_failures
where gpu_h > 0
group by all
order by all
