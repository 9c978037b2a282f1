-- How long did attempts run until they failed?
-- One row per failed attempt with known output, gang and run time.
--   user    user who submitted the job
--   reason  reason for which the attempt failed
--   gpus    GPUs allocated to the attempt
--   demand  demand bucket of the study (1, 2-4 or >4 GPUs)
--   run_s   seconds from start to failure
--   gpu_h   GPU hours of the attempt until it failed
select
  "user",
  reason,
  gpus,
  demand,
  run_s,
  gpu_h
from failed_attempts
where run_s is not null and gpus > 0
