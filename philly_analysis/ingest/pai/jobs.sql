-- Jobs of PAI.
-- One row per row of its job table. A job's GPUs are those that its workers hold a part of.
select
  job_name as job_id,
  job_table.user,
  asked.gpus,
  asked.gpu_share / nullif(asked.gpus, 0) as gpu_frac,
  pai_time(start_time) as submitted_at,
  case status when 'Terminated' then 'Pass' when 'Failed' then 'Failed' end as status,
  asked.cpus,
  asked.mem_gb,
  asked.gpu_model,
  source_file,
  source_line,
  raw,
  case
    when fault is not null then fault
    when start_time is not null and pai_time(start_time) is null then 'start_time is not a time'
    when end_time is not null and pai_time(end_time) is null then 'end_time is not a time'
    when asked.unclear then 'what a task asks for is not clear'
  end as reject
from job_table
left join asked using (job_name)
