-- What does a workload model learn from each job?
-- One row per job.
--   job_id       identifier of the job
--   submitted_s  submission, Unix seconds
--   vc           virtual cluster; empty: not known
--   user         user who submitted the job
--   gpus         gang size
--   status       status with which the job ended
--   run_s        run time under the trace's run policy; null: not part of the workload
--   censored     true when the job still ran as the log ended
--   attempts     attempts of the job
--   last_share   share of the job's run time that its last attempt took
--   flag         why the job itself is not trusted; null: nothing known
select
  jobs.job_id,
  epoch_us(jobs.submitted_at) / 1e6 as submitted_s,
  coalesce(jobs.vc, '') as vc,
  jobs.user,
  jobs.gpus,
  jobs.status,
  case when workload_jobs.left_out is null then workload_jobs.run_s end as run_s,
  workload_jobs.censored,
  job_runs.attempts,
  job_runs.last_s / nullif(job_runs.sum_s, 0) as last_share,
  jobs.flag
from jobs
inner join workload_jobs using (job_id)
inner join job_runs using (job_id)
order by jobs.submitted_at, jobs.job_id
