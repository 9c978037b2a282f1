-- materialized by clock
-- When could a pool not serve a request, and when did a job without room wait meanwhile?
-- One row per request and moment, as in shortages.
--   request     number of the request, as in requests
--   pool        name of the pool, as in pools
--   moment      moment of the change in doubled microseconds since 1970, as in machine_use; the
--               first row stands for all time before
--   too_few     true when the pool had fewer GPUs free than the gang, as in shortages
--   too_few_us  microseconds with too few free GPUs, as in shortages
--   no_fit      true when the requested servers had fewer GPUs free than the gang, as in shortages
--   no_fit_us   microseconds without a fit, as in shortages
--   no_room     true when no such servers had GPUs, CPUs and memory free, as in shortages
--   no_room_us  microseconds without room, as in shortages
--   blocked_us  microseconds before the moment during which a job of the pool waited for room
--   queued_us   microseconds before the moment during which the pool had room for the request, and
--               a job of the pool waited for room
with readings as (
  select
    s.*,
    requests.pool,
    reading(b.blocked_us, b.blocked, b.moment, s.moment) as blocked_us
  from shortages as s
  inner join requests using (request)
  asof left join queue_blockages as b
    on requests.pool = b.pool and s.moment >= b.moment
),

spells as (
  select
    *,
    lag(no_room) over in_time as had_no_room,
    blocked_us - lag(blocked_us) over in_time as blocked_lasted_us
  from readings
  window in_time as (partition by request order by moment)
)

select
  request,
  pool,
  moment,
  too_few,
  too_few_us,
  no_fit,
  no_fit_us,
  no_room,
  no_room_us,
  blocked_us,
  coalesce(sum(blocked_lasted_us) filter (where not had_no_room) over in_time, 0)::bigint
    as queued_us
from spells
window in_time as (partition by request order by moment)
