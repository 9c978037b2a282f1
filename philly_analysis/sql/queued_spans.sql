-- by job_id
-- For what did each attempt wait while the scheduler stated a reason?
-- One row per attempt and span of one stated reason within its wait.
--   job_id    identifier of the job
--   attempt   number of the attempt within its job, from 1
--   reason    reason, in the scheduler's word
--   cause     cause that the reason means, as in wait_reasons
--   kind      kind of the reason, as in wait_reasons
--   since_us  start of the span: microseconds since 1970
--   until_us  end of the span: microseconds since 1970
select
  q.job_id,
  q.attempt,
  s.reason,
  r.cause,
  r.kind,
  greatest(epoch_us(s.since_at), epoch_us(q.since_at)) as since_us,
  least(epoch_us(s.until_at), q.until_us) as until_us
from queued_attempts as q
inner join given_queue_states as s
  on q.job_id = s.job_id and q.until_at > s.since_at and q.since_at < s.until_at
inner join stated_reasons as r
  on s.reason = r.reason
