-- How many attempts had GPUs of each server, and when?
-- One row per server and interval over which their number is constant and above zero.
--   machine_id  server
--   from_at     start of the interval
--   until_at    its end
--   attempts    attempts with GPUs there, those without a known start and end not counted
with changes as (
  select
    machine_id,
    unnest([from_at, until_at]) as moment,
    unnest([1, -1]) as change
  from placed_servers
  where from_at < until_at
),

moments as (
  select
    machine_id,
    moment,
    sum(change) as change
  from changes
  group by machine_id, moment
)

select
  machine_id,
  moment as from_at,
  lead(moment) over (partition by machine_id order by moment) as until_at,
  sum(change) over (
    partition by machine_id order by moment rows unbounded preceding
  )::integer as attempts
from moments
qualify attempts > 0
