-- How often was each job tried, and did the job fail?
-- One row per job with at least one attempt and a known gang.
--   job_id    identifier of the job
--   user      user who submitted the job
--   gpus      gang size
--   gang      gang-size bucket
--   attempts  attempts of the job
--   failed    true when the job ended unsuccessful; null: the status is not known
--   ended_on  day of the last end of the job's attempts, UTC; null: not known
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
