-- Servers of a Kubernetes cluster.
-- One row per server. The GPUs of a server are the GPUs of its node. Without a node they are the
-- largest number of GPUs that attempts held at once.
with held as (
  select
    placed_gpus.node,
    placed_gpus.gpus,
    runs.started_s,
    runs.ended_s
  from placed_gpus
  inner join runs using (job_id, attempt)
),

changes as (
  select
    node,
    started_s as moment_s,
    gpus
  from held
  where coalesce(ended_s > started_s, true)
  union all
  select
    node,
    ended_s as moment_s,
    -gpus as gpus
  from held
  where ended_s > started_s
),

levels as (
  select
    node,
    sum(sum(gpus)) over (partition by node order by moment_s) as gpus
  from changes
  group by node, moment_s
),

peaks as (
  select
    node,
    max(gpus)::integer as gpus
  from levels
  group by node
),

largest as (
  select
    node,
    max(gpus) as gpus
  from held
  group by node
),

listed as (
  select
    name as node,
    max(gpus) as gpus,
    max(cpus) as cpus,
    max(mem_gb) as mem_gb,
    max_by(gpu_model, last_s) as gpu_model,
    min(source_file) as source_file,
    min_by(source_line, source_file) as source_line
  from kubernetes_nodes
  where fault is null
  group by name
)

select
  node as machine_id,
  case
    when listed.gpus is null then coalesce(peaks.gpus, 0)
    else greatest(listed.gpus, coalesce(largest.gpus, 0))
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
left join largest using (node)
union all by name
select * exclude (target)
from faulty_objects
where target = 'machines'
