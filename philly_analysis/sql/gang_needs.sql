-- materialized
-- On how few machines could a gang run if its pool were empty?
-- One row per pool and gang size that jobs request in the pool.
--   pool       pool of machines, as named in the relation pools
--   gpus       gang size
--   machines   fewest machines that hold the gang; all machines where the pool is too small; null:
--              the pool has no machine
--   servers    machines of the pool
--   too_large  true when the gang needs more GPUs than the pool has
with sizes as (
  select distinct
    job_pools.pool,
    jobs.gpus
  from jobs
  inner join job_pools using (job_id)
  where jobs.gpus > 0
)

select
  sizes.pool,
  sizes.gpus,
  coalesce(min(large.machines) filter (where large.gpus >= sizes.gpus), max(large.machines))
    as machines,
  count(large.machines) as servers,
  coalesce(max(large.gpus) < sizes.gpus, true) as too_large
from sizes
left join largest_machines as large using (pool)
group by sizes.pool, sizes.gpus
