-- How many attempts had GPUs of each server, and when?
-- One row per server and interval with a constant number of attempts above zero.
--   machine_id  identifier of the server
--   from_at     start of the interval
--   until_at    end of the interval
--   attempts    attempts with GPUs of the server; attempts without a known start and end do not
--               count
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
