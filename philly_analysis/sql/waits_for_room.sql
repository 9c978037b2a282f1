-- materialized by clock
-- When did an eligible job below its limits wait for room that its pool did not have?
-- One row per pool and moment at which the answer changed.
--   pool     name of the pool, as in pools
--   moment   moment of the change in doubled microseconds since 1970, as in machine_use
--   blocked  true when an eligible job below its limits waited for room, from the moment on
with roomless as (
  select
    request,
    moment,
    no_room::integer
    - coalesce(lag(no_room) over (partition by request order by moment), false)::integer as change
  from shortages
),

-- a request that always has room never waits for room
short_requests as (
  select distinct request
  from roomless
  where change > 0
),

class_changes as (
  select
    wait_class,
    request,
    2 * unnest([eligible_us, contended_us]) + 1 as moment,
    unnest([1, -1]) as waiting,
    0 as limited
  from contending_attempts
  semi join short_requests using (request)
  where contended_us > eligible_us
  union all
  select
    l.wait_class,
    c.request,
    l.moment,
    0 as waiting,
    l.limited::integer
    - coalesce(lag(l.limited) over (partition by l.wait_class order by l.moment), false)::integer
      as limited
  from class_limits as l
  inner join wait_classes as c using (wait_class)
  semi join short_requests using (request)
),

class_states as (
  select
    wait_class,
    request,
    moment,
    case when sum(sum(limited)) over in_time > 0 then 0 else sum(sum(waiting)) over in_time end
      as waiting
  from class_changes
  group by wait_class, request, moment
  window in_time as (partition by wait_class order by moment)
),

changes as (
  select
    request,
    moment,
    waiting - coalesce(lag(waiting) over (partition by wait_class order by moment), 0) as waiting,
    0 as no_room
  from class_states
  union all
  select
    request,
    moment,
    0 as waiting,
    change as no_room
  from roomless
  where change <> 0
),

states as (
  select
    request,
    moment,
    sum(sum(waiting)) over in_time > 0 and sum(sum(no_room)) over in_time > 0 as blocked
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
