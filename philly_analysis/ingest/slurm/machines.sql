-- Servers of a Slurm cluster, as far as its jobs show them.
-- One row per host in a NodeList; GPUs are the most that jobs held on it at once, so a server
-- that was never full is larger than this says.
with held as (
  select
    node_lists.machine_id,
    records.started_at,
    records.ended_at,
    records.gpus / count(*) over (partition by records.source_file, records.source_line) as gpus
  from records
  inner join node_lists using (node_list)
  where
    records.reject is null
    and records.started_at is not null
    and coalesce(records.ended_at > records.started_at, true)
),

changes as (
  select machine_id, started_at as moment, gpus from held
  union all
  select machine_id, ended_at as moment, -gpus as gpus
  from held
  where ended_at is not null
),

levels as (
  select
    machine_id,
    sum(sum(gpus)) over (partition by machine_id order by moment) as gpus
  from changes
  group by machine_id, moment
)

select
  machine_id,
  ceil(max(gpus) - 1e-6)::integer as gpus,
  'NodeList' as source_file,
  null::bigint as source_line,
  machine_id as raw,
  null::varchar as reject
from levels
group by machine_id
