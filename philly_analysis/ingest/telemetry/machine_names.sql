-- Which names may telemetry have for the machines of the job log?
-- One row per name and machine.
--   name        name in lower case
--   complete    true for the complete name, false for the part before the first dot
--   machine_id  server
--   cluster     cluster of the server
with bare as (
  select
    machine_id,
    cluster,
    -- machines of several clusters are prefixed with the name of their cluster
    lower(
      case
        when starts_with(machine_id, cluster || ':') then machine_id[len(cluster) + 2:]
        else machine_id
      end
    ) as name
  from machines
)

select
  lower(machine_id) as name,
  true as complete,
  machine_id,
  cluster
from bare
union
select
  name,
  true as complete,
  machine_id,
  cluster
from bare
union
select
  regexp_extract(name, '^[^.]+') as name,
  false as complete,
  machine_id,
  cluster
from bare
where contains(name, '.') and not regexp_full_match(name, '[0-9.]+')
