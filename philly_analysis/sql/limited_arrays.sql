-- materialized
-- Of which arrays was a task at the limit of running tasks?
-- One row per array.
--   array_id  identifier of the array, in the scheduler's word
select distinct regexp_replace(jobs.scheduler_id, '_.*$', '') as array_id
from jobs
inner join attempts using (job_id)
where attempts.wait_reason = 'JobArrayTaskLimit' and jobs.scheduler_id like '%\_%' escape '\'
