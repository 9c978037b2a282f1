-- When did servers take no new jobs?
-- One row per server, start and state; of several prints of a closure, the latest end counts.
with spans as (
  select
    servers.machine_id,
    slurm_time(c.since) as since_at,
    slurm_time(c.until) as until_at,
    c.state,
    c.source_file
  from closures as c
  inner join servers
    on c.node = servers.node and coalesce(c.cluster = servers.cluster, true)
)

select
  machine_id,
  since_at,
  case when max(until_at) >= since_at then max(until_at) end as until_at,
  state,
  min(source_file) as source_file,
  null::bigint as source_line,
  machine_id as raw,
  null::varchar as reject
from spans
where since_at is not null
group by machine_id, since_at, state
