-- How many GPUs and servers of each pool were in use over time?
-- One row per pool of machine_pools and interval of constant use.
--   pool           pool, as in machine_pools: each machine is in one pool
--   from_us        start of the interval in microseconds since 1970
--   until_us       end of the interval in microseconds since 1970; null: last interval
--   gpus_used      GPUs in use
--   servers_empty  servers with no GPU in use
--   servers_full   servers with every GPU in use
with changes as (
  select
    m.pool,
    u.moment // 2 as from_us,
    sum(u.free_before - u.free_after) as gpus_used,
    sum((u.free_after = u.gpus)::int - (u.free_before = u.gpus)::int) as servers_empty,
    sum((u.free_after = 0)::int - (u.free_before = 0)::int) as servers_full
  from machine_use as u
  inner join machine_pools as m using (machine_id)
  group by all
),

sizes as (
  select
    pool,
    count(*) as servers
  from machine_pools
  group by pool
)

select
  c.pool,
  c.from_us,
  lead(c.from_us) over in_time as until_us,
  sum(c.gpus_used) over in_time as gpus_used,
  sizes.servers + sum(c.servers_empty) over in_time as servers_empty,
  sum(c.servers_full) over in_time as servers_full
from changes as c
inner join sizes using (pool)
window in_time as (partition by c.pool order by c.from_us)
