-- When could a pool not give a gang its GPUs?
-- One row per pool, gang size and moment at which either answer changed.
--   pool        as in pools
--   gpus        gang size
--   moment      as in machine_use; the first row stands for all time before
--   no_fit     true when the gang did not fit on the fewest machines that can hold it, from then on
--   no_fit_us  microseconds before the moment during which they had none
--   too_few     true when all its machines together had fewer GPUs free than the gang, from then on
--   too_few_us  microseconds before the moment during which they had
with limits as (
  select
    pool,
    gpus,
    unnest(['no_fit', 'too_few']) as answer,
    unnest([machines, servers]) as machines
  from gang_needs
  where machines is not null
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
    limits.pool,
    limits.gpus,
    limits.answer,
    capacities.moment,
    capacities.free_gpus < limits.gpus as yes
  from limits
  inner join capacities
    on
      limits.pool = capacities.pool
      and limits.machines = capacities.machines
      and (
        capacities.free_gpus_before is null
        or (limits.gpus > capacities.free_gpus) <> (limits.gpus > capacities.free_gpus_before)
      )
),

states as (
  select
    pool,
    gpus,
    moment,
    last_value(any_value(yes) filter (where answer = 'no_fit') ignore nulls) over in_time
      as no_fit,
    last_value(any_value(yes) filter (where answer = 'too_few') ignore nulls) over in_time
      as too_few
  from flips
  group by pool, gpus, moment
  window in_time as (partition by pool, gpus order by moment)
),

spells as (
  select
    *,
    lag(no_fit) over in_time as had_no_fit,
    lag(too_few) over in_time as had_too_few,
    moment // 2 - lag(moment) over in_time // 2 as lasted_us
  from states
  window in_time as (partition by pool, gpus order by moment)
)

select
  pool,
  gpus,
  moment,
  no_fit,
  coalesce(sum(lasted_us) filter (where had_no_fit) over in_time, 0)::bigint as no_fit_us,
  too_few,
  coalesce(sum(lasted_us) filter (where had_too_few) over in_time, 0)::bigint as too_few_us
from spells
window in_time as (partition by pool, gpus order by moment)
