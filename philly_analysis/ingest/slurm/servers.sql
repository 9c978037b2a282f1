-- materialized
-- Servers of Slurm's clusters: servers in lists of servers, and servers on which jobs ran.
-- One row per server. A list without a cluster is of the cluster that used most of its servers.
with guessed as (
  select
    inventory.source_file,
    used.cluster,
    count(distinct inventory.node) as nodes
  from inventory
  inner join server_uses as used on inventory.node = used.node
  group by inventory.source_file, used.cluster
  qualify row_number() over (
    partition by inventory.source_file order by nodes desc, used.cluster asc
  ) = 1
),

listed as (
  select
    coalesce(clusters.prefix, '') as prefix,
    coalesce(i.cluster, guessed.cluster) as cluster,
    i.node,
    max(i.gpus) as gpus,
    max(i.shards) as shards,
    max_by(i.models, len(i.models)) as models,
    max(i.cpus) as cpus,
    -- sacct's megabytes are 2^20 bytes
    max(i.mem_mb) * 1048576 / 1e9 as mem_gb,
    flatten(list(i.partitions)) as partitions,
    min_by(i.source_file, (i.source_file, i.source_line)) as source_file,
    min_by(i.source_line, (i.source_file, i.source_line)) as source_line
  from inventory as i
  left join guessed on i.source_file = guessed.source_file
  left join record_clusters as clusters
    on coalesce(i.cluster, guessed.cluster) = clusters.cluster
  group by all
),

seen as (
  select
    prefix,
    any_value(cluster) as cluster,
    node,
    list(distinct model) filter (where model is not null) as models,
    list(distinct vc) filter (where vc is not null) as partitions
  from server_uses
  group by prefix, node
)

select
  coalesce(listed.prefix, seen.prefix) as prefix,
  coalesce(listed.cluster, seen.cluster) as cluster,
  coalesce(listed.node, seen.node) as node,
  coalesce(listed.prefix, seen.prefix) || coalesce(listed.node, seen.node) as machine_id,
  listed.gpus as gpus_listed,
  listed.shards,
  case
    when len(listed.models) = 1 then listed.models[1]
    when coalesce(len(listed.models), 0) = 0 and len(seen.models) = 1 then seen.models[1]
  end as gpu_model,
  listed.cpus,
  listed.mem_gb,
  list_distinct(coalesce(listed.partitions, []) || coalesce(seen.partitions, [])) as partitions,
  coalesce(listed.source_file, 'NodeList') as source_file,
  listed.source_line
from listed
full join seen
  on
    listed.prefix = seen.prefix
    and listed.cluster is not distinct from seen.cluster -- null: the log has no column of clusters
    and listed.node = seen.node
