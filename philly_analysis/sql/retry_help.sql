-- Does a retry help after a failure for this reason?
-- One row per reason.
--   reason   why an attempt failed
--   retried  jobs that were retried after such a failure and have ended
--   passed   of these, jobs that passed in the end
select
  reason,
  count(distinct job_id) as retried,
  count(distinct job_id) filter (passed(status)) as passed
from failed_attempts
where followed and status is not null
group by reason
