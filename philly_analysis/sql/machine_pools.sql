-- Of which pool is each machine, where each is to be of one only?
-- One row per machine with GPUs. Machines of one pool serve the same jobs.
--   machine_id  server
--   gpus        GPUs it has
--   pool        the smallest of pools that it is in, joined by the larger ones where others of that
--               pool are not in these; unused: in none
with listed as (
  select
    p.machine_id,
    arg_min(p.pool, (pools.servers, p.pool)) as smallest,
    string_agg(distinct p.pool, ' and ' order by p.pool) as every
  from pool_machines as p
  inner join pools using (pool)
  group by p.machine_id
),

named as (
  select
    machine_id,
    case
      when min(every) over of_it = max(every) over of_it then smallest
      else every
    end as pool
  from listed
  window of_it as (partition by smallest)
)

select
  machines.machine_id,
  machines.gpus,
  coalesce(named.pool, 'unused') as pool
from machines
left join named using (machine_id)
where machines.gpus > 0
