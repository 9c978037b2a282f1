-- Servers of Slurm's clusters.
-- One row per server; GPUs are those listed, or those that one attempt held there where that is
-- more. Without a list they are the most that jobs held at once, and a server that was never full
-- is larger than this says.
with held as (
  select
    shares.prefix,
    shares.node,
    records.started_at,
    records.ended_at,
    coalesce(shares.gpus, shares.about_gpus) as gpus,
    shares.gpus as known_gpus
  from shares
  inner join records
    on
      shares.job_id = records.job_id
      and shares.attempt = records.attempt
      and records.reject is null
  where coalesce(records.ended_at > records.started_at, true)
),

changes as (
  select
    prefix,
    node,
    started_at as moment,
    gpus
  from held
  union all
  select
    prefix,
    node,
    ended_at as moment,
    -gpus as gpus
  from held
  where ended_at is not null
),

levels as (
  select
    prefix,
    node,
    sum(sum(gpus)) over (partition by prefix, node order by moment) as gpus
  from changes
  group by prefix, node, moment
),

most as (
  select
    prefix,
    node,
    ceil(max(gpus) - 1e-6)::integer as gpus
  from levels
  group by prefix, node
),

single as (
  select
    prefix,
    node,
    max(known_gpus)::integer as gpus
  from held
  group by prefix, node
),

pooled as (
  select
    servers.machine_id,
    min(coalesce(pools.pool, servers.prefix || pools.part)) as pool
  from servers
  inner join pools
    on servers.prefix = pools.prefix and list_contains(servers.partitions, pools.part)
  group by servers.machine_id
)

select
  servers.machine_id,
  case
    when servers.gpus_listed is null then coalesce(most.gpus, 0)
    else greatest(servers.gpus_listed, coalesce(single.gpus, 0))
  end as gpus,
  servers.gpus_listed,
  servers.cpus,
  servers.mem_gb,
  servers.gpu_model,
  servers.cluster,
  pooled.pool || coalesce('/' || servers.gpu_model, '') as pool,
  servers.source_file,
  servers.source_line,
  servers.machine_id as raw,
  null::varchar as reject
from servers
left join most
  on servers.prefix = most.prefix and servers.node = most.node
left join single
  on servers.prefix = single.prefix and servers.node = single.node
left join pooled using (machine_id)
