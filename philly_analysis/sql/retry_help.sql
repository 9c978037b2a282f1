-- Does a retry help after a failure, by reason?
-- One row per reason.
--   reason   reason for which an attempt failed
--   retried  jobs that were retried after the failure and have ended
--   passed   jobs that were retried after the failure and passed
select
  reason,
  count(distinct job_id) as retried,
  count(distinct job_id) filter (passed(status)) as passed
from failed_attempts
where followed and status is not null
group by reason
