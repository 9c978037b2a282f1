-- materialized
-- What do the tasks of a job request, and when did the first task start?
-- One row per job that has tasks.
with tasks as (
  select
    *,
    try_cast(inst_num as double) as workers,
    -- hundredths of a GPU and of a core; GB
    coalesce(try_cast(plan_gpu as double), 0) / 100 as gpu,
    try_cast(plan_cpu as double) / 100 as cpu,
    try_cast(plan_mem as double) as mem
  from task_table
)

select
  job_name,
  pai_time(min(try_cast(start_time as double))) as started_at,
  sum(workers * ceil(gpu)) as gpus,
  sum(workers * gpu) as gpu_share,
  sum(workers * cpu) as cpus,
  sum(workers * mem) as mem_gb,
  string_agg(distinct gpu_type, '|' order by gpu_type) as gpu_model,
  bool_or(
    fault is not null or workers is null or (plan_gpu is not null and try_cast(plan_gpu as double)
    is null)
  ) as unclear
from tasks
group by job_name
