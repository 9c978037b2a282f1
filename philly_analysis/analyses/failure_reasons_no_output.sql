-- How many failed attempts left no output?
-- One row.
--   attempts  attempts that failed, by their own recorded end or as the last attempt of an
--             unsuccessful job
select count(*) as attempts
from attempts
inner join gpu_jobs using (job_id)
anti join failures using (job_id, attempt)
where end_reason in ('failed', 'out_of_memory') or (end_reason is null and failed(status))
order by all
