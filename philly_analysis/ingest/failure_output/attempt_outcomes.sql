-- Did each attempt pass?
-- One row per attempt.
select
  job_id,
  attempts.attempt,
  coalesce(
    attempts.end_reason = 'completed',
    jobs.status = 'Pass' and attempts.attempt = max(attempts.attempt) over (partition by job_id),
    false
  ) as passed
from attempts
inner join jobs using (job_id)
order by all
