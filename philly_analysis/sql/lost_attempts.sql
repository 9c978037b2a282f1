-- by job_id
-- Which attempts did a server failure end, by the scheduler's recorded end?
-- One row per attempt on GPUs that a server failure ended, with trusted times.
--   job_id    identifier of the job
--   attempt   number of the attempt within its job, from 1
--   gpus      GPUs allocated to the attempt
--   ended_at  end of the attempt
--   gpu_h     GPU hours allocated to the attempt until its end
select
  runs.job_id,
  runs.attempt,
  runs.gpus,
  runs.until_at as ended_at,
  runs.run_s * runs.gpus / 3600 as gpu_h
from attempts
inner join attempt_runs as runs using (job_id, attempt)
where
  attempts.end_reason = 'node_failure'
  and runs.gpus > 0
  and runs.until_at is not null
  and runs.flag is null
