-- materialized
-- When did an eligible job of each pool wait for room that the pool did not have?
-- One row per pool and moment at which the answer changed.
--   pool     as in pools
--   moment   as in machine_use
--   blocked  true when such a job waited, from the moment on
with changes as (
  select
    r.request,
    2 * unnest([q.eligible_us, q.until_us]) + 1 as moment,
    unnest([1, -1]) as waiting,
    null::boolean as no_room
  from queued_attempts as q
  inner join job_requests as r using (job_id)
  where q.until_us > q.eligible_us and q.cause is distinct from 'limit'
  union all
  select
    request,
    moment,
    0 as waiting,
    no_room
  from shortages
),

states as (
  select
    request,
    moment,
    sum(sum(waiting)) over in_time > 0
    and coalesce(last_value(any_value(no_room) ignore nulls) over in_time, false) as blocked
  from changes
  group by request, moment
  window in_time as (partition by request order by moment)
),

flips as (
  select
    request,
    moment,
    blocked::integer
    - coalesce(lag(blocked) over (partition by request order by moment), false)::integer as change
  from states
),

counts as (
  select
    requests.pool,
    flips.moment,
    sum(sum(flips.change)) over (partition by requests.pool order by flips.moment) > 0 as blocked
  from flips
  inner join requests using (request)
  where flips.change <> 0
  group by requests.pool, flips.moment
)

select
  pool,
  moment,
  blocked
from counts
qualify blocked is distinct from lag(blocked) over (partition by pool order by moment)
