-- Which names may the machines of the job log go by?
-- One row per name and machine.
--   name        in lower case
--   whole       true where it is all of the name, false where it is the part before the first dot
--   machine_id  server
--   cluster     cluster that it belongs to
with bare as (
  select
    machine_id,
    cluster,
    -- several clusters' machines bear the name of their cluster before their own
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
  true as whole,
  machine_id,
  cluster
from bare
union
select
  name,
  true as whole,
  machine_id,
  cluster
from bare
union
select
  regexp_extract(name, '^[^.]+') as name,
  false as whole,
  machine_id,
  cluster
from bare
where contains(name, '.') and not regexp_full_match(name, '[0-9.]+')
