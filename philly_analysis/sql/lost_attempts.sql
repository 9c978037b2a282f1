-- Which attempts did the failure of a server end, by the scheduler's own word?
-- One row per attempt on GPUs that ended so, with trusted times.
--   job_id    job
--   attempt   which attempt, from 1
--   gpus      GPUs allocated to it
--   ended_at  when it ended
--   gpu_h     GPU hours allocated to it until then
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
