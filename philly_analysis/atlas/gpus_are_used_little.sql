-- How busy are the GPUs that jobs hold?
-- One row per (user, gang).
--   user      who submitted it; a job of an unknown user stands alone, under its own id
--   gang      gang-size bucket
--   attempts  attempts with a reading
--   minutes   GPU-minutes with a reading
--   sum_pct   sum of the readings, in % times minutes
select
  coalesce("user", job_id) as "user",
  gang_bucket(gpus) as gang,
  count(*) as attempts,
  sum(minutes) as minutes,
  sum(sum_pct) as sum_pct
from sampled_attempts
group by all
order by all
