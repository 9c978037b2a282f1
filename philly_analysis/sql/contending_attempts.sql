-- materialized by job_id
-- Until when did each attempt contend for room?
-- One row per attempt in queued_attempts whose pool has servers.
--   job_id        identifier of the job
--   attempt       number of the attempt within its job, from 1
--   request       number of the request, as in requests
--   wait_class    number of the class, as in wait_classes
--   eligible_us   moment at which the job was eligible in microseconds since 1970, as in
--                 queued_attempts
--   until_us      end of the wait in microseconds since 1970, as in queued_attempts; the launch of
--                 a started attempt is subtracted
--   launch_us     microseconds of the launch, as in launches; 0: none is known
--   outcome       started, given up or waiting, as in queued_attempts
--   contended_us  until_us; for an attempt whose last reason is a limit, the moment at which the
--                 limit last began to bind; null: the limit bound during the whole eligible wait
with queued as (
  select
    q.job_id,
    q.attempt,
    c.request,
    c.wait_class,
    q.eligible_us,
    q.until_us - coalesce(l.launch_us, 0) as until_us,
    coalesce(l.launch_us, 0) as launch_us,
    q.outcome,
    coalesce(q.cause = 'limit', false) as limited
  from queued_attempts as q
  inner join job_classes using (job_id)
  inner join wait_classes as c using (wait_class)
  left join launches as l using (job_id, attempt)
),

limit_starts as (
  select
    wait_class,
    moment
  from class_limits
  where limited
)

select
  q.job_id,
  q.attempt,
  q.request,
  q.wait_class,
  q.eligible_us,
  q.until_us,
  q.launch_us,
  q.outcome,
  case
    when not q.limited then q.until_us
    when s.moment // 2 > q.eligible_us then s.moment // 2
  end as contended_us
from queued as q
asof left join limit_starts as s
  on q.wait_class = s.wait_class and 2 * q.until_us > s.moment
