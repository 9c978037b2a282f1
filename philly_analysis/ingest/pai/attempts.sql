-- Attempts of PAI's jobs.
-- One row per row of PAI's job table, from the start of the job's first task to the job's end.
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
