-- Jobs of PAI.
-- One row per row of PAI's job table. A job has the GPUs that are allocated to its workers, shared
-- GPUs included.
select
  job_name as job_id,
  job_table.user,
  requests.gpus,
  requests.gpu_share / nullif(requests.gpus, 0) as gpu_frac,
  pai_time(start_time) as submitted_at,
  case status when 'Terminated' then 'Pass' when 'Failed' then 'Failed' end as status,
  requests.cpus,
  requests.mem_gb,
  requests.gpu_model,
  source_file,
  source_line,
  raw,
  case
    when fault is not null then fault
    when start_time is not null and pai_time(start_time) is null then 'start_time is not a time'
    when end_time is not null and pai_time(end_time) is null then 'end_time is not a time'
    when requests.unclear then 'what a task asks for is not clear'
  end as reject
from job_table
left join requests using (job_name)
