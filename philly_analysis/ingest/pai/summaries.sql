-- What did PAI's sensors measure of each worker of a job, over its lifetime?
-- One row per row of PAI's table of sensors. Use and plan are in hundredths of a GPU. Use divided
-- by the worker's GPUs is the mean use of a GPU.
with tasks as (
  select
    job_name,
    task_name,
    any_value(nullif(ceil(try_cast(plan_gpu as double) / 100), 0)) as gpus,
    any_value(try_cast(plan_cpu as double) / 100) as cpus,
    any_value(try_cast(plan_mem as double)) as mem_gb
  from task_table
  group by job_name, task_name
)

select
  s.job_name as job_id,
  1 as attempt,
  s.machine as machine_id,
  case
    when tasks.gpus = 1 then try_cast(regexp_extract(s.gpu_name, 'nvidia([0-9]+)$', 1) as integer)
  end as gpu,
  s.worker_name as worker,
  tasks.gpus,
  try_cast(s.gpu_wrk_util as double) / tasks.gpus as util_pct,
  try_cast(s.max_gpu_wrk_mem as double) as gpu_mem_used_gb,
  try_cast(s.cpu_usage as double) / 100 as cpus_used,
  tasks.cpus,
  try_cast(s.max_mem as double) as mem_used_gb,
  tasks.mem_gb,
  s.source_file,
  s.source_line,
  s.raw,
  case
    when s.fault is not null then s.fault
    when s.gpu_wrk_util is not null and try_cast(s.gpu_wrk_util as double) is null
      then 'gpu_wrk_util is not a number'
  end as reject
from sensor_table as s
left join tasks
  on s.job_name = tasks.job_name and s.task_name = tasks.task_name
