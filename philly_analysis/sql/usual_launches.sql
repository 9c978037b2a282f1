-- materialized
-- How long is the usual launch in each pool, from the allocation of GPUs to the start?
-- One row per pool with a usual launch time: at least ten attempts became eligible while no older
-- attempt waited, and the first quartile of the waits of such attempts is at most half longer than
-- their 5th percentile.
--   pool       name of the pool, as in pools
--   launch_us  first quartile of the waits in unqueued_starts, in microseconds
select
  pool,
  quantile_disc(wait_us, 0.25) as launch_us
from unqueued_starts
group by pool
having
  count(*) >= 10
  and launch_us > 0
  and launch_us <= 1.5 * quantile_disc(wait_us, 0.05)
