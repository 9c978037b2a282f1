-- materialized by clock
-- When did a job of each pool wait for room, or start after it?
-- One row per pool and moment at which the answer changed.
--   pool        name of the pool, as in pools
--   moment      moment of the change in doubled microseconds since 1970, as in machine_use
--   blocked     true when a job of the pool waited for room, from the moment on. A job that gets
--               its room takes the room, and starts after the usual start-up (see start_up_times)
--   blocked_us  microseconds before the moment during which a job of the pool waited for room
with shifted as (
  select
    w.pool,
    case when w.blocked then w.moment else w.moment + 2 * t.usual_us end as moment,
    w.blocked,
    lead(w.moment) over (partition by w.pool order by w.moment) as next_moment
  from waits_for_room as w
  cross join start_up_times as t
),

-- a queue that blocks again meanwhile never ceased to
switches as (
  select
    pool,
    moment,
    blocked
  from shifted
  where blocked or next_moment is null or next_moment > moment
),

changes as (
  select
    pool,
    moment,
    blocked
  from switches
  qualify blocked is distinct from lag(blocked) over (partition by pool order by moment)
),

spells as (
  select
    pool,
    moment,
    blocked,
    lag(blocked) over in_time as was_blocked,
    moment // 2 - lag(moment) over in_time // 2 as lasted_us
  from changes
  window in_time as (partition by pool order by moment)
)

select
  pool,
  moment,
  blocked,
  coalesce(sum(lasted_us) filter (where was_blocked) over in_time, 0)::bigint as blocked_us
from spells
window in_time as (partition by pool order by moment)
