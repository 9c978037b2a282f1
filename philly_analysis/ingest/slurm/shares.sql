-- materialized
-- How many GPUs of each server were allocated to each attempt of a Slurm job?
-- One row per attempt that started with GPUs, and server. GPUs of a model are spread evenly over
-- the servers of that model. The column gpus is null where the GPUs do not divide evenly, or exceed
-- the GPUs of a server.
with granted as (
  select
    a.prefix,
    a.job_id,
    a.attempt,
    a.started_at,
    a.ended_at,
    a.allocated,
    a.source_file,
    a.source_line,
    a.node_list,
    node_lists.node,
    servers.gpu_model,
    servers.gpus_listed,
    a.gpus,
    a.nodes
  from allocations as a
  inner join node_lists using (node_list)
  inner join servers
    on a.prefix = servers.prefix and node_lists.node = servers.node
  where a.reject is null and a.started_at is not null and a.gpus > 0
),

models as (
  select
    job_id,
    attempt,
    gpu_model as model,
    count(*) as nodes,
    any_value(resources.model_gpus[list_position(resources.models, gpu_model)]) as gpus
  from granted
  left join resources
    on granted.allocated = resources.tres
  where gpu_model is not null
  group by all
),

-- attempts whose servers' models account for all their GPUs
accounted as (
  select
    job_id,
    attempt
  from models
  inner join allocations using (job_id, attempt)
  group by job_id, attempt
  having sum(models.gpus) = any_value(allocations.gpus)
),

shared as (
  select
    granted.*,
    case when a.job_id is null then granted.gpus else coalesce(models.gpus, 0) end as of_model,
    case when a.job_id is null then granted.nodes else models.nodes end as on_nodes
  from granted
  left join accounted as a
    on granted.job_id = a.job_id and granted.attempt = a.attempt
  left join models
    on
      granted.job_id = models.job_id
      and granted.attempt = models.attempt
      and granted.gpu_model = models.model
)

select
  prefix,
  job_id,
  attempt,
  started_at,
  ended_at,
  node,
  case
    when of_model % on_nodes = 0 and coalesce(of_model // on_nodes <= gpus_listed, true)
      then of_model // on_nodes
  end as gpus,
  -- an estimate, for the maximum allocated at once
  of_model / on_nodes as about_gpus,
  source_file,
  source_line,
  node_list
from shared
where of_model > 0
