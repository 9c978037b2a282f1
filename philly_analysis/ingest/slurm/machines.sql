-- Servers of Slurm's clusters.
-- One row per server. A server has the listed number of GPUs, or the most that one attempt got if
-- that number is larger. Without a list, the number of GPUs is the maximum allocated at once, a
-- lower bound.
with pooled as (
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
    when servers.gpus_listed is null then coalesce(peaks.gpus, earlier.gpus, 0)
    else greatest(servers.gpus_listed, coalesce(peaks.attempt_gpus, earlier.gpus, 0))
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
left join server_peaks as peaks
  on servers.prefix = peaks.prefix and servers.node = peaks.node
left join earlier_machines as earlier using (machine_id)
left join pooled using (machine_id)
