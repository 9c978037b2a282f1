-- materialized
-- Until when were jobs of higher order in the queue before each attempt?
-- One row per attempt in queued_attempts whose pool has servers.
--   job_id       job
--   attempt      which attempt, from 1
--   pool         as in pools
--   request      as in requests
--   wait_class   as in wait_classes
--   eligible_us  as in queued_attempts
--   until_us     as in queued_attempts
--   outcome      as in queued_attempts
--   older_us     end of the last wait of attempts that were eligible before; null: none. Attempts
--                at a limit when they started do not count
--   ahead_us     later one of older_us and the last start before until_us, which overtook the
--                attempt
select
  q.job_id,
  q.attempt,
  w.pool,
  c.request,
  c.wait_class,
  q.eligible_us,
  q.until_us,
  q.outcome,
  max(case when q.cause is distinct from 'limit' then q.until_us end) over (
    partition by w.pool
    order by q.eligible_us, q.until_us, q.job_id, q.attempt
    rows between unbounded preceding and 1 preceding
  ) as older_us,
  greatest(
    older_us,
    lag(case when q.outcome = 'started' then q.until_us end) over (
      partition by w.pool
      order by q.until_us, q.eligible_us, q.job_id, q.attempt
    )
  ) as ahead_us
from queued_attempts as q
inner join job_classes using (job_id)
inner join wait_classes as c using (wait_class)
inner join requests as w using (request)
