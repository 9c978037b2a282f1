-- Could the overtaken attempt of each overtaking have used the GPUs?
-- One row per start that overtook an attempt of a gang that the cluster can hold.
--   job_id       identifier of the job that started
--   attempt      number of the attempt within its job, from 1
--   started_at   start of the attempt
--   waiter_gpus  gang size of the overtaken attempt
--   harmless     true when the overtaken gang could not have been placed. The free GPUs, with the
--                GPUs of the start, were then not on the fewest machines that hold the gang
with numbered_needs as (
  select
    pool,
    gpus,
    machines,
    dense_rank() over (order by pool, machines) as number
  from gang_needs
),

moments as (
  select
    o.job_id,
    o.attempt,
    o.started_at,
    n.number,
    o.waiter_gpus,
    -- releases of that microsecond are counted, its starts are not
    2 * (epoch_us(o.started_at) - coalesce(l.launch_us, 0)) as moment
  from overtakings as o
  left join launches as l using (job_id, attempt)
  inner join numbered_needs as n
    on o.pool = n.pool and o.waiter_gpus = n.gpus
  where o.overtook
),

numbers as (
  select distinct
    pool,
    machines,
    number
  from numbered_needs
),

-- one number sorts faster than a pool's name and a number of machines
capacities as (
  select
    n.number,
    f.moment,
    f.free_gpus
  from free_capacity as f
  inner join numbers as n using (pool, machines)
)

select
  moments.job_id,
  moments.attempt,
  moments.started_at,
  moments.waiter_gpus,
  coalesce(c.free_gpus < moments.waiter_gpus, false) as harmless
from moments
asof left join capacities as c
  on moments.number = c.number and moments.moment >= c.moment
