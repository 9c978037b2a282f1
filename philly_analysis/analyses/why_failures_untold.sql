-- How often did each user's attempts fail, by what became of the job, and what did it cost?
-- One row per (user, ending).
--   user    who submitted them; null: not known
--   ending  what became of the job, as in status_failures
--   trials  failed attempts
--   early   of these, failed within 5 minutes
--   timed   of these, those with a known run time
--   gpu_h   GPU hours until they failed
select
  "user",
  ending,
  count(*) as trials,
  count(*) filter (run_s <= 300) as early,
  count(run_s) as timed,
  coalesce(sum(gpu_h), 0) as gpu_h
from status_failures
group by all
order by all
