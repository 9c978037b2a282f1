-- How often did each user's attempts fail for each reason, and what did it cost?
-- One row per (day, user, reason).
--   day     day of the failures, UTC; null: not known
--   user    who submitted them; null: not known
--   reason  why they failed, as their output tells
--   trials  failed attempts
--   early   of these, failed within 5 minutes
--   timed   of these, those with a known run time
--   gpu_h   GPU hours until they failed
select
  attempts.ended_at::date as day,
  f.user,
  f.reason,
  count(*) as trials,
  count(*) filter (f.run_s <= 300) as early,
  count(f.run_s) as timed,
  coalesce(sum(f.gpu_h), 0) as gpu_h
from failed_attempts as f
inner join attempts using (job_id, attempt)
group by all
order by all
