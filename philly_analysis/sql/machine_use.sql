-- materialized by moment
-- How many GPUs of each machine were in use, from moment to moment?
-- One row per machine and moment at which the number changed.
--   machine_id   identifier of the server
--   moment       microseconds since 1970, doubled; plus one once the starts of that microsecond
--                are counted (releases come before starts)
--   gpus         GPUs of the machine
--   free_before  GPUs free before the moment; 0 where more GPUs are allocated than the machine has
--   free_after   GPUs free from the moment on
--   open_before  GPUs free before the moment, without GPUs of launching attempts (see launches)
--   open_after   GPUs free from the moment on, without GPUs of launching attempts
with changes as (
  select
    machine_id,
    2 * epoch_us(unnest([started_at, until_at])) + unnest([1, 0]) as moment,
    unnest([gpus, -gpus]) as change,
    0 as launch_change
  from machine_holdings
  where gpus is not null
  union all
  select
    machine_id,
    2 * epoch_us(unnest([allocated_at, started_at])) + 1 as moment,
    0 as change,
    unnest([gpus, -gpus]) as launch_change
  from machine_holdings
  where gpus is not null and allocated_at < started_at
),

moments as (
  select
    machine_id,
    moment,
    sum(change) as change,
    sum(launch_change) as launch_change
  from changes
  group by all
),

counts as (
  select
    *,
    sum(change) over (partition by machine_id order by moment) as in_use,
    in_use + sum(launch_change) over (partition by machine_id order by moment) as taken
  from moments
)

select
  counts.machine_id,
  counts.moment,
  machines.gpus,
  greatest(machines.gpus - (counts.in_use - counts.change), 0)::integer as free_before,
  greatest(machines.gpus - counts.in_use, 0)::integer as free_after,
  greatest(machines.gpus - (counts.taken - counts.change - counts.launch_change), 0)::integer
    as open_before,
  greatest(machines.gpus - counts.taken, 0)::integer as open_after
from counts
inner join machines using (machine_id)
