-- materialized by job_id
-- On how many servers did each attempt run, how few would have sufficed, and with which co-tenants?
-- One row per attempt with placements.
--   job_id          identifier of the job
--   attempt         number of the attempt within its job, from 1
--   gpus            GPUs that the attempt was placed on
--   servers         distinct servers that the attempt ran on
--   fewest_servers  fewest servers of the job's pool that have so many GPUs, if all were empty
--   spread          true when the attempt ran on more servers than `fewest_servers`
--   whole           true when the attempt had every GPU of each of its servers
--   co_tenants      true when another attempt had a GPU on one of the servers at the same time;
--                   null: the start or end is not known
with placed_attempts as (
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

fewest_servers_by_size as (
  select
    sizes.pool,
    sizes.gpus,
    min(large.machines)::integer as servers
  from (select distinct pool, gpus from placed_attempts) as sizes
  inner join largest_machines as large
    on sizes.pool = large.pool and sizes.gpus <= large.gpus
  group by sizes.pool, sizes.gpus
)

select
  a.job_id,
  a.attempt,
  a.gpus,
  a.servers,
  coalesce(fewest_servers_by_size.servers, a.servers) as fewest_servers,
  a.servers > fewest_servers as spread,
  a.whole,
  a.co_tenants
from placed_attempts as a
left join fewest_servers_by_size using (pool, gpus)
