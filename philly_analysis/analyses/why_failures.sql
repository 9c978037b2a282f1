-- How often did each user's attempts fail for each reason, and what did it cost?
-- One row per (user, reason).
--   user    who submitted them; null: not known
--   reason  why they failed, as their output tells
--   trials  failed attempts
--   early   of these, failed within 5 minutes
--   timed   of these, those with a known run time
--   gpu_h   GPU hours until they failed
select
  "user",
  reason,
  count(*) as trials,
  count(*) filter (run_s <= 300) as early,
  count(run_s) as timed,
  coalesce(sum(gpu_h), 0) as gpu_h
from failed_attempts
group by all
order by all
