-- How full is each pool of the cluster, and how many of its servers are then empty?
-- One row per pool and level of use that occurred.
--   pool            pool, as in machine_pools
--   gpus            its GPUs
--   used_pct        share of them in use, rounded down to whole percent
--   hours           time spent at this level, from the first start to the last end, but not
--                   before the log is complete
--   empty_pct       share of its servers with no GPU in use, mean over that time
--   empty_min_pct   smallest share in it
--   empty_max_pct   largest share in it
--   partly_pct      share of servers with some but not all GPUs in use, mean over that time
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
    u.until_us - greatest(u.from_us, epoch_us(snapshot.complete_from)) as held_us,
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
  sum(empty_pct * held_us) / sum(held_us) as empty_pct,
  min(empty_pct) as empty_min_pct,
  max(empty_pct) as empty_max_pct,
  sum((100 - empty_pct - full_pct) * held_us) / sum(held_us) as partly_pct
from levels
where held_us > 0
group by all
order by all
