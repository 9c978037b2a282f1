-- Which notes does a PAI trace need?
-- One row per note.
select format(
  '{:,} of {:,} tasks are of jobs that the job table lacks.',
  count(*) filter (jobs.job_id is null), count(*)
) as note
from task_table
left join jobs on task_table.job_name = jobs.job_id
having count(*) filter (jobs.job_id is null) > 0
