-- materialized by moment
-- How many GPUs and servers of each pool were in use, from moment to moment?
-- One row per pool of machine_pools and microsecond in which the use of a server changed.
--   pool           pool, as in machine_pools: each machine is in one pool
--   moment         microseconds since 1970, doubled, as in machine_use
--   gpus_used      GPUs in use from the moment on
--   gpus_stranded  GPUs not in use on servers with other GPUs in use: fragments
--   servers_empty  servers with no GPU in use
--   servers_full   servers with every GPU in use
with numbered_pools as (
  select
    pool,
    count(*) as servers,
    (row_number() over (order by pool))::integer as number
  from machine_pools
  group by pool
),

-- numbers of pools sort faster than names, and integers than the sums of integers
changes as (
  select
    p.number,
    u.moment // 2 as at_us,
    sum(u.free_before - u.free_after)::integer as gpus_used,
    sum(
      case when u.free_after < u.gpus then u.free_after else 0 end
      - case when u.free_before < u.gpus then u.free_before else 0 end
    )::integer as gpus_stranded,
    sum((u.free_after = u.gpus)::integer - (u.free_before = u.gpus)::integer)::integer
      as servers_empty,
    sum((u.free_after = 0)::integer - (u.free_before = 0)::integer)::integer as servers_full
  from machine_use as u
  inner join machine_pools using (machine_id)
  inner join numbered_pools as p using (pool)
  group by all
)

select
  p.pool,
  2 * c.at_us as moment,
  (sum(c.gpus_used) over in_time)::integer as gpus_used,
  (sum(c.gpus_stranded) over in_time)::integer as gpus_stranded,
  (p.servers + sum(c.servers_empty) over in_time)::integer as servers_empty,
  (sum(c.servers_full) over in_time)::integer as servers_full
from changes as c
inner join numbered_pools as p using (number)
window in_time as (partition by c.number order by c.at_us)
