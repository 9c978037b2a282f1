-- Which attempts did the failure of a server end, by the scheduler's word or by their output?
-- One row per attempt on GPUs that ended so, with trusted times. By output only what can be nothing
-- but the server: uncorrectable memory errors of a GPU, GPUs that fell off the bus, NVLink errors,
-- and a server that is said to be lost. The study's infrastructure tier is wider: it has storage,
-- connections and inputs in it, which no server of the gang need have broken.
--   job_id    job
--   attempt   which attempt, from 1
--   gpus      GPUs allocated to it
--   ended_at  when it ended
--   gpu_h     GPU hours allocated to it until then
with lost as (
  select
    job_id,
    attempt
  from lost_attempts
  union
  select
    job_id,
    attempt
  from failures
  where reason = 'GPU ECC error' or fine in ('gpu_fell_off_bus', 'nvlink_error', 'node_failure')
)

select
  runs.job_id,
  runs.attempt,
  runs.gpus,
  runs.until_at as ended_at,
  runs.run_s * runs.gpus / 3600 as gpu_h
from lost
inner join attempt_runs as runs using (job_id, attempt)
where runs.gpus > 0 and runs.until_at is not null and runs.flag is null
