-- materialized by clock
-- When did a limit or a quota keep each class from starting, and what did its pool lack meanwhile?
-- One row per class, cap and moment at which the cap began or ceased to bind. A cap binds while a
-- job would have exceeded the cap, and would have exceeded no limit of an earlier name.
--   wait_class        number of the class, as in wait_classes
--   method            how the quota is known, as in cap_levels; limit: the cap is a limit
--   cap               name of the limit, or quota, as in cap_levels
--   moment            moment of the change in doubled microseconds since 1970, as in machine_use;
--                     the first row stands for all time before
--   binds             true when the cap binds, from the moment on
--   bound_us          microseconds before the moment during which the cap bound
--   bound_too_few_us  part of bound_us: the pool had too few free GPUs
--   bound_no_fit_us   part of bound_us: the gang did not fit on the servers that the job asks for
--   bound_no_room_us  part of bound_us: no such servers had GPUs, CPUs and memory free
--   bound_queued_us   part of bound_us: there was room, and a job of the pool waited for room
--   too_few_us        microseconds before the moment with too few free GPUs, whether bound or not
--   no_fit_us         microseconds before the moment without a fit, whether bound or not
--   no_room_us        microseconds before the moment without room, whether bound or not
--   queued_us         microseconds before the moment with room and a job that waited for room
with switches as (
  select
    wait_class,
    method,
    cap,
    moment,
    over::integer - coalesce(lag(over) over in_time, false)::integer as own_change,
    0 as earlier_change
  from cap_levels
  window in_time as (partition by wait_class, method, cap order by moment)
),

caps as (
  select distinct
    wait_class,
    method,
    cap
  from switches
),

blocked as (
  select
    caps.wait_class,
    caps.method,
    caps.cap,
    s.moment,
    0 as own_change,
    s.own_change as earlier_change
  from caps
  inner join switches as s
    on
      caps.wait_class = s.wait_class
      and s.method = 'limit'
      and (caps.method <> 'limit' or caps.cap > s.cap)
),

every_switch as (
  from switches
  union all
  from blocked
),

counts as (
  select
    wait_class,
    method,
    cap,
    moment,
    sum(sum(own_change)) over in_time > 0 and sum(sum(earlier_change)) over in_time = 0 as binds
  from every_switch
  group by wait_class, method, cap, moment
  window in_time as (partition by wait_class, method, cap order by moment)
),

flips as (
  select
    wait_class,
    method,
    cap,
    moment,
    binds
  from counts
  qualify binds is distinct from
    lag(binds) over (partition by wait_class, method, cap order by moment)
),

points as (
  select
    f.wait_class,
    f.method,
    f.cap,
    f.moment,
    f.binds,
    c.request,
    requests.pool
  from flips as f
  inner join wait_classes as c using (wait_class)
  inner join requests using (request)
),

blockages as (
  select
    points.*,
    reading(b.blocked_us, b.blocked, b.moment, points.moment) as blocked_us
  from points
  asof left join queue_blockages as b
    on points.pool = b.pool and points.moment >= b.moment
),

readings as (
  select
    p.wait_class,
    p.method,
    p.cap,
    p.moment,
    p.binds,
    reading(c.too_few_us, c.too_few, c.moment, p.moment) as too_few_us,
    reading(c.no_fit_us, c.no_fit, c.moment, p.moment) as no_fit_us,
    reading(c.no_room_us, c.no_room, c.moment, p.moment) as no_room_us,
    coalesce(c.queued_us + case when c.no_room then 0 else p.blocked_us - c.blocked_us end, 0)
      as queued_us
  from blockages as p
  asof left join pool_clocks as c
    on p.request = c.request and p.moment >= c.moment
),

spells as (
  select
    *,
    lag(binds) over in_time as bound,
    moment // 2 - lag(moment) over in_time // 2 as lasted_us,
    too_few_us - lag(too_few_us) over in_time as too_few_lasted_us,
    no_fit_us - lag(no_fit_us) over in_time as no_fit_lasted_us,
    no_room_us - lag(no_room_us) over in_time as no_room_lasted_us,
    queued_us - lag(queued_us) over in_time as queued_lasted_us
  from readings
  window in_time as (partition by wait_class, method, cap order by moment)
)

select
  wait_class,
  method,
  cap,
  moment,
  binds,
  coalesce(sum(lasted_us) filter (where bound) over in_time, 0)::bigint as bound_us,
  coalesce(sum(too_few_lasted_us) filter (where bound) over in_time, 0)::bigint as bound_too_few_us,
  coalesce(sum(no_fit_lasted_us) filter (where bound) over in_time, 0)::bigint as bound_no_fit_us,
  coalesce(sum(no_room_lasted_us) filter (where bound) over in_time, 0)::bigint as bound_no_room_us,
  coalesce(sum(queued_lasted_us) filter (where bound) over in_time, 0)::bigint as bound_queued_us,
  too_few_us,
  no_fit_us,
  no_room_us,
  queued_us
from spells
window in_time as (partition by wait_class, method, cap order by moment)
