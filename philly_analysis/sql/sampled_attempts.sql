-- How busy were the GPUs of the attempts that have a reading?
-- One row per attempt with at least one reading of a GPU that no other attempt had meanwhile.
--   job_id      job
--   attempt     which attempt, from 1
--   user        who submitted it
--   status      how the job ended; unknown where the log does not say
--   gpus        GPUs placed
--   servers     distinct servers
--   spread      true when it ran on more servers than the fewest that hold so many GPUs
--   dedicated   true when it had every GPU of each of its servers, and no more servers than its
--               GPUs need
--   co_tenants  true when another attempt had a GPU of one of its servers meanwhile
--   minutes     GPU-minutes with a reading
--   idle_min    of the minutes, those at exactly 0 %
--   sum_pct     sum of the readings, in % times minutes
--   mean_pct    their mean
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
