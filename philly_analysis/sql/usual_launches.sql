-- materialized
-- How long is the usual launch in each pool, from the allocation of GPUs to the start?
-- One row per pool with a usual launch time: at least ten attempts became eligible while no older
-- attempt waited, and the first quartile of the waits of such attempts is at most half longer than
-- their 5th percentile.
--   pool       name of the pool, as in pools
--   launch_us  first quartile of these waits in microseconds
with started as (
  select
    p.pool,
    q.until_us - q.eligible_us as wait_us,
    coalesce(
      max(q.until_us) over (
        partition by p.pool
        order by q.eligible_us, q.until_us, q.job_id, q.attempt
        rows between unbounded preceding and 1 preceding
      ) <= q.eligible_us,
      true
    ) as first_in_queue
  from queued_attempts as q
  inner join job_pools as p using (job_id)
  where q.outcome = 'started'
)

select
  pool,
  quantile_disc(wait_us, 0.25) as launch_us
from started
where first_in_queue
group by pool
having
  count(*) >= 10
  and launch_us > 0
  and launch_us <= 1.5 * quantile_disc(wait_us, 0.05)
