-- How busy are spread gangs and packed ones, user by user?
-- One row per (user, gpus, status, spread, co_tenants); gangs of two GPUs and more.
--   user        who submitted it; a job of an unknown user stands alone, under its own id
--   gpus        GPUs allocated to the attempt
--   status      how the job ended
--   spread      true on more servers than the fewest that hold so many GPUs
--   co_tenants  true when another attempt had GPUs of its servers meanwhile
--   attempts    attempts with a reading
--   minutes     GPU-minutes with a reading
--   sum_pct     sum of the readings, in % times minutes
select
  coalesce("user", job_id) as "user",
  gpus,
  status,
  spread,
  co_tenants,
  count(*) as attempts,
  sum(minutes) as minutes,
  sum(sum_pct) as sum_pct
from sampled_attempts
where gpus > 1
group by all
order by all
