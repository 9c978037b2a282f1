-- Servers of Slurm's clusters.
-- One row per server. A server has the listed number of GPUs, or the most that one attempt got if
-- that number is larger. Without a list, the number of GPUs is the maximum allocated at once, a
-- lower bound.
with allocated as (
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
  from allocated
  union all
  select
    prefix,
    node,
    ended_at as moment,
    -gpus as gpus
  from allocated
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

peaks as (
  select
    prefix,
    node,
    ceil(max(gpus) - 1e-6)::integer as gpus
  from levels
  group by prefix, node
),

single_attempts as (
  select
    prefix,
    node,
    max(known_gpus)::integer as gpus
  from allocated
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
    when servers.gpus_listed is null then coalesce(peaks.gpus, 0)
    else greatest(servers.gpus_listed, coalesce(single_attempts.gpus, 0))
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
left join peaks
  on servers.prefix = peaks.prefix and servers.node = peaks.node
left join single_attempts
  on servers.prefix = single_attempts.prefix and servers.node = single_attempts.node
left join pooled using (machine_id)
