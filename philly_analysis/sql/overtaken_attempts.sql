-- Could the overtaken attempt of each overtaking have used the GPUs?
-- One row per start that overtook an attempt of a gang that the cluster can hold.
--   job_id       identifier of the job that started
--   attempt      number of the attempt within its job, from 1
--   started_at   start of the attempt
--   waiter_gpus  gang size of the overtaken attempt
--   harmless     true when the overtaken gang could not have been placed. The free GPUs, with the
--                GPUs of the start, were then not on the fewest machines that hold the gang
with moments as (
  select
    o.job_id,
    o.attempt,
    o.started_at,
    o.pool,
    o.waiter_gpus,
    gang_needs.machines,
    -- releases of that microsecond are counted, its starts are not
    2 * (epoch_us(o.started_at) - coalesce(l.launch_us, 0)) as moment
  from overtakings as o
  left join launches as l using (job_id, attempt)
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
