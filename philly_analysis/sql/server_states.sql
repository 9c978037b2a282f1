-- materialized by moment
-- How many GPUs, CPUs and how much memory of each server were free, from moment to moment?
-- One row per server with GPUs, whose CPUs or memory and their allocations are recorded, and moment
-- at which a free amount changed.
--   machine_id       identifier of the server
--   moment           moment of the change in doubled microseconds since 1970, as in machine_use;
--                    the first row of each server stands for all time before
--   free_gpus        GPUs free from the moment on
--   free_cpus        CPU cores free from the moment on; null: not recorded
--   free_mem_gb      memory free from the moment on; null: not recorded
with changes as (
  select
    h.machine_id,
    2 * unnest([
      epoch_us(a.started_at) - coalesce(l.launch_us, 0),
      epoch_us(coalesce(a.ended_at, snapshot.ended_at))
    ]) + unnest([1, 0]) as moment,
    unnest([-h.cpus, h.cpus]) as cpus,
    unnest([-h.mem_gb, h.mem_gb]) as mem_gb
  from given_host_allocations as h
  inner join attempts as a using (job_id, attempt)
  left join launches as l using (job_id, attempt)
  cross join snapshot
  where coalesce(a.ended_at, snapshot.ended_at) > a.started_at
),

events as (
  select
    machine_id,
    0 as moment,
    gpus,
    cpus,
    mem_gb
  from allocated_hosts
  union all
  select
    u.machine_id,
    u.moment,
    u.open_after - u.open_before as gpus,
    0 as cpus,
    0 as mem_gb
  from server_openings as u
  semi join allocated_hosts using (machine_id)
  union all
  select
    c.machine_id,
    c.moment,
    0 as gpus,
    coalesce(c.cpus, 0) as cpus,
    coalesce(c.mem_gb, 0) as mem_gb
  from changes as c
  semi join allocated_hosts using (machine_id)
),

moments as (
  select
    machine_id,
    moment,
    sum(gpus) as gpus,
    sum(cpus) as cpus,
    sum(mem_gb) as mem_gb
  from events
  group by all
)

select
  moments.machine_id,
  moments.moment,
  sum(moments.gpus) over in_time as free_gpus,
  case when allocated_hosts.cpus is not null then round(sum(moments.cpus) over in_time, 6) end
    as free_cpus,
  case when allocated_hosts.mem_gb is not null then round(sum(moments.mem_gb) over in_time, 6) end
    as free_mem_gb
from moments
inner join allocated_hosts using (machine_id)
window in_time as (partition by moments.machine_id order by moments.moment)
