-- How full is each pool of the cluster, and how many of its servers are empty at each level of use?
-- One row per pool and share of GPUs in use that occurred.
--   pool           pool, as in machine_pools
--   gpus           GPUs of the pool
--   used_pct       share of the pool's GPUs in use, rounded down to whole percent
--   hours          hours at this share, from the first start (or the time from which the log is
--                  complete) to the last end
--   empty_pct      mean share of the pool's servers with no GPU in use, %
--   empty_min_pct  smallest share of the pool's servers with no GPU in use, %
--   empty_max_pct  largest share of the pool's servers with no GPU in use, %
--   partly_pct     mean share of the pool's servers with some but not all GPUs in use, %
with sizes as (
  select
    pool,
    count(*) as servers,
    sum(gpus)::bigint as gpus
  from machine_pools
  group by pool
),

levels as (
  select
    u.pool,
    sizes.gpus,
    floor(100 * u.gpus_used / sizes.gpus)::integer as used_pct,
    lead(u.moment // 2) over (partition by u.pool order by u.moment)
    - greatest(u.moment // 2, epoch_us(snapshot.complete_from)) as held_us,
    100 * u.servers_empty / sizes.servers as empty_pct,
    100 * u.servers_full / sizes.servers as full_pct
  from pool_use as u
  inner join sizes using (pool)
  cross join snapshot
)

select
  pool,
  gpus,
  used_pct,
  sum(held_us) / 3.6e9 as hours,
  total(empty_pct * held_us) / sum(held_us) as empty_pct,
  min(empty_pct) as empty_min_pct,
  max(empty_pct) as empty_max_pct,
  total((100 - empty_pct - full_pct) * held_us) / sum(held_us) as partly_pct
from levels
where held_us > 0
group by all
order by all
