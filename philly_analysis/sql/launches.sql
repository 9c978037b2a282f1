-- materialized
-- How long before its start did each attempt get its GPUs?
-- One row per started attempt whose launch the scheduler stated, or that waited while eligible in a
-- pool with a usual launch time. A pool has one if at least ten attempts became eligible while no
-- older attempt waited, and if the first quartile of the waits of such attempts is at most half
-- longer than their 5th percentile.
--   job_id     identifier of the job
--   attempt    number of the attempt within its job, from 1
--   launch_us  microseconds from the allocation to the start, as in stated_launches; else the
--              first quartile of the pool's waits, or the attempt's wait if shorter
with started as (
  select
    p.pool,
    q.job_id,
    q.attempt,
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
),

usual as (
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
)

select
  started.job_id,
  started.attempt,
  coalesce(stated.launch_us, least(started.wait_us, usual.launch_us)) as launch_us
from started
left join usual using (pool)
left join stated_launches as stated using (job_id, attempt)
where started.wait_us > 0 and coalesce(stated.launch_us, usual.launch_us) is not null
