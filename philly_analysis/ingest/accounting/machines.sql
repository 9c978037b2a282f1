-- Servers of an accounting log.
-- One row per server. The GPUs of a server are the larger of two numbers: the listed GPUs, and the
-- most GPUs of one attempt. Without a list they are the most GPUs allocated at once, a lower bound.
with changes as (
  select
    node,
    started_at as moment,
    gpus
  from placed_gpus
  where coalesce(ended_at > started_at, true)
  union all
  select
    node,
    ended_at as moment,
    -gpus as gpus
  from placed_gpus
  where ended_at > started_at
),

levels as (
  select
    node,
    sum(sum(gpus)) over (partition by node order by moment) as gpus
  from changes
  group by node, moment
),

peaks as (
  select
    node,
    max(gpus)::integer as gpus
  from levels
  group by node
),

attempt_gpus as (
  select
    node,
    sum(gpus)::integer as gpus
  from placed_gpus
  group by node, job_id, attempt
),

single_attempts as (
  select
    node,
    max(gpus) as gpus
  from attempt_gpus
  group by node
),

listed as (
  select
    node,
    max(gpus) as gpus,
    max(cpus) as cpus,
    max(mem_gb) as mem_gb,
    any_value(gpu_model) as gpu_model,
    min(source_file) as source_file,
    min(source_line) as source_line
  from accounting_servers
  group by node
)

select
  node as machine_id,
  case
    when listed.gpus is null then coalesce(peaks.gpus, 0)
    else greatest(listed.gpus, coalesce(single_attempts.gpus, 0))
  end as gpus,
  listed.gpus as gpus_listed,
  listed.cpus,
  listed.mem_gb,
  listed.gpu_model,
  coalesce(listed.source_file, 'the servers of jobs') as source_file,
  listed.source_line,
  node as raw,
  null::varchar as reject
from listed
full join peaks using (node)
left join single_attempts using (node)
