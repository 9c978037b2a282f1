-- How busy were the GPUs of the attempts that have a reading?
-- One row per attempt with a reading of a GPU that no other attempt had at the same time.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   user        user who submitted the job
--   status      status with which the job ended; unknown: not recorded
--   gpus        GPUs that the attempt was placed on
--   servers     distinct servers that the attempt ran on
--   spread      true when the attempt ran on more servers than the fewest that hold so many GPUs
--   dedicated   true when the attempt had every GPU of the fewest servers that hold so many GPUs
--   co_tenants  true when another attempt had a GPU on one of the servers at the same time
--   minutes     GPU-minutes that have a utilisation reading
--   idle_min    GPU-minutes with a reading of exactly 0 %
--   sum_pct     sum of the utilisation readings, in % times minutes
--   mean_pct    mean utilisation of the attempt's GPUs, %
select
  job_id,
  attempt,
  "user",
  status,
  gpus,
  servers,
  spread,
  whole and not spread as dedicated,
  co_tenants,
  minutes,
  idle_min,
  sum_pct,
  mean_pct
from attempt_use
where minutes > 0
