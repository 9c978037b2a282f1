-- Which GPUs were allocated to each attempt of a Slurm job: how many, which model, which fraction?
-- One row per reading of a record, with the columns of the relation `records`.
with granted_records as (
  select
    records.*,
    coalesce(granted.gpus, requested.gpus, 0) as whole_gpus,
    coalesce(granted.shards, requested.shards, 0) as shards,
    requested.nodes as asked_nodes,
    case when len(requested.models) = 1 then requested.models[1] end as asked_model,
    lists.nodes,
    lists.shards_per_gpu,
    coalesce(
      case when len(granted.models) = 1 then granted.models[1] end,
      lists.model,
      case when len(requested.models) = 1 then requested.models[1] end
    ) as model
  from records
  left join resources as granted
    on records.allocated = granted.tres
  left join resources as requested
    on records.requested = requested.tres
  left join server_lists as lists
    on
      records.started_at is not null
      and records.prefix = lists.prefix
      and records.node_list = lists.node_list
),

counted as (
  select
    *,
    case
      when whole_gpus > 0 then whole_gpus
      when shards > 0 and shards_per_gpu > 0 then ceil(shards / shards_per_gpu)::integer
      else 0
    end as gpus
  from granted_records
)

select
  c.* exclude (whole_gpus, shards_per_gpu, model),
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
