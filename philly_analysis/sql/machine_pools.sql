-- To which of the disjoint pools does each machine belong?
-- One row per machine with GPUs. Machines of one pool serve the same jobs.
--   machine_id  identifier of the server
--   gpus        GPUs of the machine
--   pool        smallest pool that contains the machine; all pools that contain the machine, if the
--               smallest pool's machines are in different pools; unused: in no pool
with pools_of_machines as (
  select
    p.machine_id,
    arg_min(p.pool, (pools.servers, p.pool)) as smallest,
    string_agg(distinct p.pool, ' and ' order by p.pool) as every
  from pool_machines as p
  inner join pools using (pool)
  group by p.machine_id
),

named_pools as (
  select
    machine_id,
    case
      when min(every) over smallest_pool = max(every) over smallest_pool then smallest
      else every
    end as pool
  from pools_of_machines
  window smallest_pool as (partition by smallest)
)

select
  machines.machine_id,
  machines.gpus,
  coalesce(named_pools.pool, 'unused') as pool
from machines
left join named_pools using (machine_id)
where machines.gpus > 0
