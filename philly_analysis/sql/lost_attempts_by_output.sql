-- by job_id
-- Which attempts did a server failure end, by the scheduler's recorded end or by their output?
-- One row per attempt on GPUs that a server failure ended, with trusted times. Output counts only
-- if a server must be the cause: uncorrectable memory errors of a GPU, GPUs off the bus, NVLink
-- errors, and lost servers. The study's infrastructure tier is wider: storage, connections and
-- inputs may fail without a failed server of the gang.
--   job_id    identifier of the job
--   attempt   number of the attempt within its job, from 1
--   gpus      GPUs allocated to the attempt
--   ended_at  end of the attempt
--   gpu_h     GPU hours allocated to the attempt until its end
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
