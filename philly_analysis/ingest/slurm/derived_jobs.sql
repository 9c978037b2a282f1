-- Which jobs do the records belong to?
-- One row per job.
select distinct job_id
from records
where reject is null
