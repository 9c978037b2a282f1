-- What do the jobs of the workload do on their GPUs, attempt after attempt?
-- One row per attempt with a known run time of a job that is part of the workload.
--   job_id      job
--   attempt     which attempt, from 1
--   run_s       seconds that it runs; of a what-if, what it got done of the run asked of it
--   end_reason  how it then ends; null: not known, or it still ran as the log ended
select
  runs.job_id,
  runs.attempt,
  coalesce(attempts.work_s, runs.run_s) as run_s,
  attempts.end_reason
from attempt_runs as runs
inner join workload_jobs as jobs using (job_id)
inner join attempts using (job_id, attempt)
where jobs.left_out is null and runs.run_s is not null
