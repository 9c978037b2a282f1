-- Attempts of PAI's jobs.
-- One row per row of its job table: from its first task's start to its own end.
select
  job_name as job_id,
  1 as attempt,
  requests.started_at,
  case when status in ('Terminated', 'Failed') then pai_time(end_time) end as ended_at,
  requests.gpus,
  source_file,
  source_line,
  raw,
  fault as reject
from job_table
left join requests using (job_name)
