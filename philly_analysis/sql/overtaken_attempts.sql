-- Could the attempt that a start overtook have used the GPUs?
-- One row per start that overtook an attempt of a gang that the cluster can hold.
--   job_id       job that started
--   attempt      which attempt, from 1
--   started_at   when it started
--   waiter_gpus  gang size of the attempt that waited on
--   harmless     true when the GPUs then free, those of the start included, could not place the
--                waiting gang on the fewest machines that hold it
with moments as (
  select
    o.job_id,
    o.attempt,
    o.started_at,
    o.pool,
    o.waiter_gpus,
    gang_needs.machines,
    -- releases of that microsecond are counted, its starts are not
    2 * epoch_us(o.started_at) as moment
  from overtakings as o
  inner join gang_needs
    on o.pool = gang_needs.pool and o.waiter_gpus = gang_needs.gpus
  where o.overtook
)

select
  moments.job_id,
  moments.attempt,
  moments.started_at,
  moments.waiter_gpus,
  coalesce(free_capacity.free_gpus < moments.waiter_gpus, false) as harmless
from moments
asof left join free_capacity
  on
    moments.pool = free_capacity.pool
    and moments.machines = free_capacity.machines
    and moments.moment >= free_capacity.moment
