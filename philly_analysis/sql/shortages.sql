-- materialized by clock
-- When could a pool not serve a request?
-- One row per request and moment at which one of three answers changed; too_few implies no_fit, and
-- no_fit implies no_room.
--   request     number of the request, as in requests
--   moment      moment of the change in doubled microseconds since 1970, as in machine_use; the
--               first row stands for all time before
--   too_few     true when the pool had fewer GPUs free than the gang, from the moment on
--   too_few_us  microseconds with too few free GPUs before the moment
--   no_fit      true when the servers that the request asks for had fewer GPUs free than the gang,
--               from the moment on
--   no_fit_us   microseconds without a fit before the moment
--   no_room     true when no such servers had GPUs, CPUs and memory free, from the moment on
--   no_room_us  microseconds without room before the moment
with limits as (
  select
    request,
    pool,
    gpus,
    unnest([true, false]) as total,
    unnest([servers, machines]) as machines
  from requests
),

capacities as (
  select
    pool,
    machines,
    moment,
    free_gpus,
    lag(free_gpus) over (partition by pool, machines order by moment) as free_gpus_before
  from free_capacity
),

flips as (
  select
    limits.request,
    c.moment,
    case when limits.total then c.free_gpus < limits.gpus end as too_few,
    case when not limits.total then c.free_gpus < limits.gpus end as no_fit,
    null::boolean as short
  from limits
  inner join capacities as c
    on
      limits.pool = c.pool
      and limits.machines = c.machines
      and (
        c.free_gpus_before is null
        or (limits.gpus > c.free_gpus) <> (limits.gpus > c.free_gpus_before)
      )
  union all
  select
    request,
    moment,
    null as too_few,
    null as no_fit,
    short
  from server_shortages
),

states as (
  select
    request,
    moment,
    last_value(any_value(too_few) ignore nulls) over in_time as too_few,
    last_value(any_value(no_fit) ignore nulls) over in_time as no_fit,
    last_value(any_value(short) ignore nulls) over in_time as short
  from flips
  group by request, moment
  window in_time as (partition by request order by moment)
),

-- shares of servers are estimates where they are not recorded, all GPUs together are not
answers as (
  select
    request,
    moment,
    too_few,
    too_few or no_fit as no_fit,
    too_few or no_fit or coalesce(short, false) as no_room
  from states
),

spells as (
  select
    *,
    lag(too_few) over in_time as had_too_few,
    lag(no_fit) over in_time as had_no_fit,
    lag(no_room) over in_time as had_no_room,
    moment // 2 - lag(moment) over in_time // 2 as lasted_us
  from answers
  window in_time as (partition by request order by moment)
)

select
  request,
  moment,
  too_few,
  coalesce(sum(lasted_us) filter (where had_too_few) over in_time, 0)::bigint as too_few_us,
  no_fit,
  coalesce(sum(lasted_us) filter (where had_no_fit) over in_time, 0)::bigint as no_fit_us,
  no_room,
  coalesce(sum(lasted_us) filter (where had_no_room) over in_time, 0)::bigint as no_room_us
from spells
window in_time as (partition by request order by moment)
