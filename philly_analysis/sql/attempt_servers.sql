-- materialized
-- On how many servers did each attempt run, on how few could it have, and with whom?
-- One row per attempt with placements.
--   job_id          job
--   attempt         which attempt, from 1
--   gpus            GPUs placed
--   servers         distinct servers
--   fewest_servers  fewest servers of its pool that hold that many GPUs, were they empty
--   spread          true when it ran on more than the fewest
--   whole           true when it had every GPU of each of its servers
--   co_tenants      true when another attempt had a GPU of one of its servers meanwhile;
--                   null: its start or end is unknown
with attempts_placed as (
  select
    p.job_id,
    p.attempt,
    any_value(job_pools.pool) as pool,
    -- where not all servers' shares are known, the attempt's own count
    case
      when count(p.gpus) = count(*) then sum(p.gpus)::integer else any_value(attempts.gpus)
    end as gpus,
    count(*)::integer as servers,
    bool_and(coalesce(p.gpus >= machines.gpus, false)) as whole,
    max(p.attribution) = 'node_shared' as co_tenants
  from placed_servers as p
  inner join machines using (machine_id)
  inner join attempts using (job_id, attempt)
  inner join job_pools using (job_id)
  group by p.job_id, p.attempt
),

fewest as (
  select
    sizes.pool,
    sizes.gpus,
    min(large.machines)::integer as servers
  from (select distinct pool, gpus from attempts_placed) as sizes
  inner join largest_machines as large
    on sizes.pool = large.pool and sizes.gpus <= large.gpus
  group by sizes.pool, sizes.gpus
)

select
  a.job_id,
  a.attempt,
  a.gpus,
  a.servers,
  coalesce(fewest.servers, a.servers) as fewest_servers,
  a.servers > fewest_servers as spread,
  a.whole,
  a.co_tenants
from attempts_placed as a
left join fewest using (pool, gpus)
