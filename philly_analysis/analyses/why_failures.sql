-- How often did each user's attempts fail for each reason, and how many GPU hours did they cost?
-- One row per (day, user, reason).
--   day     day on which the attempts failed, UTC; null: not known
--   user    user who submitted the jobs; null: not recorded
--   reason  reason of the failures by the attempts' output
--   trials  failed attempts
--   early   failed attempts that ran for less than 5 minutes
--   timed   failed attempts with a known run time
--   gpu_h   GPU hours of the failed attempts until they failed
select
  attempts.ended_at::date as day,
  f.user,
  f.reason,
  count(*) as trials,
  count(*) filter (f.run_s <= 300) as early,
  count(f.run_s) as timed,
  coalesce(total(f.gpu_h), 0) as gpu_h
from failed_attempts as f
inner join attempts using (job_id, attempt)
group by all
order by all
