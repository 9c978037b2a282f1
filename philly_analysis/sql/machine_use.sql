-- materialized
-- How many GPUs of each machine were in use, from moment to moment?
-- One row per machine and moment at which the number changed.
--   machine_id   server
--   moment       microseconds since 1970, doubled; plus one once the starts of that microsecond
--                are counted (releases come before starts)
--   gpus         GPUs it has
--   free_before  GPUs free before; 0 where more are allocated than it has
--   free_after   GPUs free from then on
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
