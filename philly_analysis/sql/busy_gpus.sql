-- by job_id
-- When was each GPU allocated, where the log has GPU indices?
-- One row per interval in which a GPU was allocated without a break. Adjacent intervals stay
-- separate, so that the end of an attempt is distinguishable from the start of the next attempt.
--   machine_id    identifier of the server
--   gpu           index of the GPU in its server, from 0
--   allocated_at  moment at which the first attempt of the interval got the GPU, before its launch
--   started_at    start of the interval
--   until_at      end of the interval; for a running attempt the end of the log
--   attempts      attempts in the interval; more than one: the attempts overlapped on the GPU
with allocations as (
  select
    p.machine_id,
    p.gpu,
    r.started_at - to_microseconds(coalesce(l.launch_us, 0)) as allocated_at,
    r.started_at,
    r.until_at
  from placements as p
  inner join attempt_runs as r using (job_id, attempt)
  left join launches as l using (job_id, attempt)
  where p.gpu is not null and r.until_at > r.started_at
),

allocations_with_breaks as (
  select
    *,
    coalesce(
      started_at >= max(until_at) over (
        partition by machine_id, gpu
        order by started_at, until_at
        rows between unbounded preceding and 1 preceding
      ),
      true
    ) as begins
  from allocations
),

allocations_by_stretch as (
  select
    *,
    sum(begins::int) over (
      partition by machine_id, gpu
      order by started_at, until_at
      rows unbounded preceding
    ) as stretch
  from allocations_with_breaks
)

select
  machine_id,
  gpu,
  min(allocated_at) as allocated_at,
  min(started_at) as started_at,
  max(until_at) as until_at,
  count(*) as attempts
from allocations_by_stretch
group by machine_id, gpu, stretch
