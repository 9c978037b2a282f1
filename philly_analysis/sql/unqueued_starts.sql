-- materialized by job_id
-- How long did attempts wait that became eligible while no older attempt of the pool waited?
-- One row per such attempt that started.
--   job_id   identifier of the job
--   attempt  number of the attempt within its job, from 1
--   pool     name of the pool, as in pools
--   wait_us  microseconds from the moment at which the job was eligible to the start
with started as (
  select
    p.pool,
    q.job_id,
    q.attempt,
    q.eligible_us,
    q.until_us,
    max(q.until_us) over (
      partition by p.pool
      order by q.eligible_us, q.until_us, q.job_id, q.attempt
      rows between unbounded preceding and 1 preceding
    ) as older_until_us
  from queued_attempts as q
  inner join job_pools as p using (job_id)
  where q.outcome = 'started'
)

select
  job_id,
  attempt,
  pool,
  until_us - eligible_us as wait_us
from started
where coalesce(older_until_us <= eligible_us, true)
