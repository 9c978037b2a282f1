-- materialized
-- How many GPUs of each machine were in use over time?
-- One row per machine and moment at which the number of GPUs in use changed.
--   machine_id   identifier of the server
--   moment       twice the microseconds since 1970, plus one after the starts of that microsecond
--                (releases precede starts)
--   gpus         GPUs of the machine
--   free_before  free GPUs before the change; 0 where more GPUs are allocated than the machine has
--   free_after   free GPUs after the change
with held as (
  select
    machine_id,
    started_at,
    until_at,
    1 as gpus
  from busy_gpus
  union all by name
  select
    p.machine_id,
    r.started_at,
    r.until_at,
    -- where it is not known how many, the attempt's GPUs are taken as spread evenly
    coalesce(p.gpus, r.gpus / count(*) over (partition by p.job_id, p.attempt)) as gpus
  from placements as p
  inner join attempt_runs as r using (job_id, attempt)
  where p.gpu is null and r.until_at > r.started_at
),

changes as (
  select
    machine_id,
    2 * epoch_us(unnest([started_at, until_at])) + unnest([1, 0]) as moment,
    unnest([gpus, -gpus]) as change
  from held
  where gpus is not null
),

moments as (
  select
    machine_id,
    moment,
    sum(change) as change
  from changes
  group by all
),

counts as (
  select
    *,
    sum(change) over (partition by machine_id order by moment) as in_use
  from moments
)

select
  counts.machine_id,
  counts.moment,
  machines.gpus,
  greatest(machines.gpus - (counts.in_use - counts.change), 0)::integer as free_before,
  greatest(machines.gpus - counts.in_use, 0)::integer as free_after
from counts
inner join machines using (machine_id)
