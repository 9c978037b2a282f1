-- materialized
-- Which GPUs were allocated to each attempt of a Slurm job: how many, which model, which fraction?
-- One row per valid record.
with requests as (
  select
    records.job_id,
    records.attempt,
    records.prefix,
    records.vc,
    records.node_list,
    records.started_at,
    coalesce(allocated.gpus, requested.gpus, 0) as whole_gpus,
    coalesce(allocated.shards, requested.shards, 0) as shards,
    allocated.models as allocated_models,
    requested.models as requested_models,
    requested.nodes as asked_nodes
  from records
  left join resources as allocated
    on records.allocated = allocated.tres
  left join resources as requested
    on records.requested = requested.tres
  where records.reject is null
),

placed as (
  select
    requests.job_id,
    requests.attempt,
    count(*) as nodes,
    case when count(distinct servers.gpu_model) = 1 then any_value(servers.gpu_model) end as model,
    case
      when count(distinct servers.shards / servers.gpus_listed) = 1
        then max(servers.shards / servers.gpus_listed)
    end as shards_per_gpu
  from requests
  inner join node_lists using (node_list)
  left join servers
    on requests.prefix = servers.prefix and node_lists.node = servers.node
  where requests.started_at is not null
  group by all
),

modelled as (
  select
    a.*,
    placed.nodes,
    nullif(placed.shards_per_gpu, 0) as shards_per_gpu,
    case when len(a.requested_models) = 1 then a.requested_models[1] end as asked_model,
    coalesce(
      case when len(a.allocated_models) = 1 then a.allocated_models[1] end,
      placed.model,
      case when len(a.requested_models) = 1 then a.requested_models[1] end
    ) as model
  from requests as a
  left join placed using (job_id, attempt)
),

counted as (
  select
    *,
    case
      when whole_gpus > 0 then whole_gpus
      when shards > 0 and shards_per_gpu > 0 then ceil(shards / shards_per_gpu)::integer
      else 0
    end as gpus
  from modelled
)

select
  c.job_id,
  c.attempt,
  c.gpus,
  c.nodes,
  c.asked_nodes,
  c.shards,
  c.asked_model,
  nullif(case
    when c.whole_gpus > 0 then mig_frac(c.model)
    when c.gpus > 0 then c.shards / (c.gpus * c.shards_per_gpu)
  end, 1) as gpu_frac,
  case
    when c.gpus > 0
      then
        coalesce(pools.pool, c.prefix || c.vc)
        || coalesce('/' || coalesce(c.model, models.model), '')
  end as pool
from counted as c
left join pools
  on c.prefix = pools.prefix and regexp_extract(c.vc, '^[^,]*') = pools.part
left join partition_models as models
  on c.prefix = models.prefix and regexp_extract(c.vc, '^[^,]*') = models.part
