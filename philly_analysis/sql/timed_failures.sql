-- How long did attempts run until they failed, where that is known?
-- One row per failed attempt with known output, gang and run time.
--   user    who submitted it
--   reason  why it failed
--   gpus    GPUs allocated to it
--   demand  the study's demand buckets
--   run_s   seconds from start to failure
--   gpu_h   GPU hours until it failed
select
  "user",
  reason,
  gpus,
  demand,
  run_s,
  gpu_h
from failed_attempts
where run_s is not null and gpus > 0
