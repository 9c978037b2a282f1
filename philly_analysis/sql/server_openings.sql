-- by moment
-- How many GPUs of each server could a job get, from moment to moment?
-- One row per server and moment at which the number of free GPUs, or of GPUs out of service, may
-- change.
--   machine_id     identifier of the server
--   moment         moment of the change in doubled microseconds since 1970, as in machine_use
--   open_before    GPUs that a job could get before the moment: free, and on a server in service
--   open_after     GPUs that a job could get from the moment on
--   closed_before  free GPUs before the moment, while the server was out of service
--   closed_after   free GPUs from the moment on, while the server is out of service
with switches as (
  select
    machine_id,
    unnest([from_us, until_us]) as moment,
    unnest([1, -1]) as change
  from server_outages
),

events as (
  select
    machine_id,
    moment,
    open_after,
    0 as change
  from machine_use
  semi join switches using (machine_id)
  union all
  select
    machine_id,
    moment,
    null as open_after,
    change
  from switches
),

states as (
  select
    machines.machine_id,
    events.moment,
    machines.gpus,
    coalesce(last_value(max(events.open_after) ignore nulls) over in_time, machines.gpus) as room,
    sum(sum(events.change)) over in_time > 0 as closed
  from events
  inner join machines using (machine_id)
  group by machines.machine_id, machines.gpus, events.moment
  window in_time as (partition by machines.machine_id order by events.moment)
),

openings as (
  select
    machine_id,
    moment,
    gpus,
    case when closed then 0 else room end as open_after,
    case when closed then room else 0 end as closed_after
  from states
)

select
  machine_id,
  moment,
  coalesce(lag(open_after) over in_time, gpus)::integer as open_before,
  open_after::integer as open_after,
  coalesce(lag(closed_after) over in_time, 0)::integer as closed_before,
  closed_after::integer as closed_after
from openings
window in_time as (partition by machine_id order by moment)
union all
select
  machine_id,
  moment,
  open_before,
  open_after,
  0 as closed_before,
  0 as closed_after
from machine_use
anti join switches using (machine_id)
