-- How often was each job tried, and was it in vain?
-- One row per job with at least one attempt and a known gang.
--   job_id    job
--   user      who submitted it
--   gpus      gang size
--   gang      gang-size bucket
--   attempts  attempts that it made
--   failed    true when it ended unsuccessful; null: its end is not known
--   ended_on  day of the last end of its attempts, UTC; null: not known
select
  job_id,
  "user",
  gpus,
  gang_bucket(gpus) as gang,
  attempts,
  failed(status) as failed,
  last_ended_at::date as ended_on
from job_runs
where attempts > 0 and gpus is not null
