-- by clock
-- When had too few servers the GPUs, CPUs and memory that a request asks of each?
-- One row per request with CPUs or memory, and moment at which the answer changed.
--   request  number of the request, as in requests
--   moment   moment of the change in doubled microseconds since 1970, as in machine_use; the first
--            row stands for all time before
--   short    true when fewer servers than the request asks for had enough, from the moment on
with states as (
  select
    p.pool,
    s.machine_id,
    s.moment,
    s.free_gpus,
    s.free_cpus,
    s.free_mem_gb,
    lag(s.free_gpus) over in_time as gpus_before,
    lag(s.free_cpus) over in_time as cpus_before,
    lag(s.free_mem_gb) over in_time as mem_gb_before
  from server_states as s
  inner join pool_machines as p using (machine_id)
  window in_time as (partition by p.pool, s.machine_id order by s.moment)
),

answers as (
  select
    r.request,
    r.machines,
    s.moment,
    (
      s.free_gpus >= r.gpus / r.machines and suffices(s.free_cpus, r.cpus)
      and suffices(s.free_mem_gb, r.mem_gb)
    )::integer
    - coalesce(
      s.gpus_before >= r.gpus / r.machines and suffices(s.cpus_before, r.cpus)
      and suffices(s.mem_gb_before, r.mem_gb),
      false
    )::integer as change
  from states as s
  inner join requests as r
    on s.pool = r.pool and (r.cpus is not null or r.mem_gb is not null)
  where change <> 0 or s.moment = 0
),

counts as (
  select
    request,
    moment,
    sum(sum(change)) over (partition by request order by moment) < machines as short
  from answers
  group by request, machines, moment
)

select
  request,
  moment,
  short
from counts
qualify short is distinct from lag(short) over (partition by request order by moment)
