-- How busy are the GPUs of jobs?
-- One row per (user, gang).
--   user      user who submitted the job; the job's id where the user is not recorded
--   gang      gang-size bucket
--   attempts  attempts that have a utilisation reading
--   minutes   GPU-minutes that have a utilisation reading
--   sum_pct   sum of the utilisation readings, in % times minutes
select
  coalesce("user", job_id) as "user",
  gang_bucket(gpus) as gang,
  count(*) as attempts,
  total(minutes) as minutes,
  total(sum_pct) as sum_pct
from sampled_attempts
group by all
order by all
