-- How long does each attempt of the workload's jobs run, and how does the attempt end?
-- One row per attempt with a known run time of a job of the workload.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   run_s       run time in seconds; in a what-if the part of the requested run that the attempt
--               completed
--   end_reason  recorded end of the attempt; null: not known, or still running at the end of the
--               log
select
  runs.job_id,
  runs.attempt,
  coalesce(attempts.work_s, runs.run_s) as run_s,
  attempts.end_reason
from attempt_runs as runs
inner join workload_jobs as jobs using (job_id)
inner join attempts using (job_id, attempt)
where jobs.left_out is null and runs.run_s is not null
