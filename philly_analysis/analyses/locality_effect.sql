-- How busy are spread and packed gangs, by user?
-- One row per (user, gpus, status, spread, co_tenants), for gangs of two GPUs or more.
--   user        user who submitted the job; the job's id where the user is not recorded
--   gpus        GPUs allocated to the attempt
--   status      status with which the job ended
--   spread      true when the attempt ran on more servers than the fewest that hold so many GPUs
--   co_tenants  true when another attempt had GPUs on the servers at the same time
--   attempts    attempts that have a utilisation reading
--   minutes     GPU-minutes that have a utilisation reading
--   sum_pct     sum of the utilisation readings, in % times minutes
select
  coalesce("user", job_id) as "user",
  gpus,
  status,
  spread,
  co_tenants,
  count(*) as attempts,
  total(minutes) as minutes,
  total(sum_pct) as sum_pct
from sampled_attempts
where gpus > 1
group by all
order by all
