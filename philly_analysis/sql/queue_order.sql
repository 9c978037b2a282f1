-- materialized by job_id
-- Until when were jobs of higher order in the queue before each attempt?
-- One row per attempt in queued_attempts whose pool has servers.
--   job_id       identifier of the job
--   attempt      number of the attempt within its job, from 1
--   pool         name of the pool, as in pools
--   request      number of the request, as in requests
--   wait_class   number of the class, as in wait_classes
--   eligible_us  moment at which the job was eligible in microseconds since 1970, as in
--                queued_attempts
--   until_us     end of the wait in microseconds since 1970, less the launch, as in
--                contending_attempts
--   outcome      started, given up or waiting, as in queued_attempts
--   older_us     latest contended_us of attempts that were eligible before (see
--                contending_attempts); null: none contended after eligible_us
--   ahead_us     latest of eligible_us, older_us and the last start before until_us that overtook
--                the attempt, in microseconds since 1970
with ordered as (
  select
    q.*,
    r.pool,
    max(q.contended_us) over (
      partition by r.pool
      order by q.eligible_us, q.until_us, q.job_id, q.attempt
      rows between unbounded preceding and 1 preceding
    ) as contended_before_us,
    lag(case when q.outcome = 'started' then q.until_us end) over (
      partition by r.pool
      order by q.until_us, q.eligible_us, q.job_id, q.attempt
    ) as started_before_us
  from contending_attempts as q
  inner join requests as r using (request)
)

select
  job_id,
  attempt,
  pool,
  request,
  wait_class,
  eligible_us,
  until_us,
  outcome,
  case when contended_before_us > eligible_us then contended_before_us end as older_us,
  greatest(eligible_us, contended_before_us, started_before_us) as ahead_us
from ordered
