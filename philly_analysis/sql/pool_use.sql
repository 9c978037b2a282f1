-- How many GPUs and servers of each pool were in use over time?
-- One row per pool of machine_pools and interval of constant use.
--   pool           pool, as in machine_pools: each machine is in one pool
--   from_us        start of the interval in microseconds since 1970
--   until_us       end of the interval in microseconds since 1970; null: last interval
--   gpus_used      GPUs in use
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
    u.moment // 2 as from_us,
    sum(u.free_before - u.free_after)::integer as gpus_used,
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
  c.from_us,
  lead(c.from_us) over in_time as until_us,
  sum(c.gpus_used) over in_time as gpus_used,
  p.servers + sum(c.servers_empty) over in_time as servers_empty,
  sum(c.servers_full) over in_time as servers_full
from changes as c
inner join numbered_pools as p using (number)
window in_time as (partition by c.number order by c.from_us)
