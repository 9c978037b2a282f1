-- Of which pool is each machine, were it of one only?
-- One row per machine with GPUs.
--   machine_id  server
--   gpus        GPUs it has
--   pool        the smallest pool that it is in; unused: in none, as no job may run there
with smallest as (
  select
    p.machine_id,
    arg_min(p.pool, (pools.servers, p.pool)) as pool
  from pool_machines as p
  inner join pools using (pool)
  group by p.machine_id
)

select
  machines.machine_id,
  machines.gpus,
  coalesce(smallest.pool, 'unused') as pool
from machines
left join smallest using (machine_id)
where machines.gpus > 0
