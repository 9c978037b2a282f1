-- When was each GPU allocated, where the log has GPU indices?
-- One row per interval in which a GPU was allocated without a break; adjacent intervals
-- stay separate, so that one attempt's end and the next one's start are distinguishable.
--   machine_id  server
--   gpu         index of the GPU in its server, from 0
--   started_at  start of the interval
--   until_at    its end: end of the log for attempts that still ran
--   attempts    attempts in it; more than one: they overlapped on this GPU
with held as (
  select
    p.machine_id,
    p.gpu,
    r.started_at,
    r.until_at
  from placements as p
  inner join attempt_runs as r using (job_id, attempt)
  where p.gpu is not null and r.until_at > r.started_at
),

marked as (
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
  from held
),

numbered as (
  select
    *,
    sum(begins::int) over (
      partition by machine_id, gpu
      order by started_at, until_at
      rows unbounded preceding
    ) as stretch
  from marked
)

select
  machine_id,
  gpu,
  min(started_at) as started_at,
  max(until_at) as until_at,
  count(*) as attempts
from numbered
group by machine_id, gpu, stretch
