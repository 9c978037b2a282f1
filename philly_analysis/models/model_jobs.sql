-- What does a workload model learn from each job?
-- One row per job.
--   submitted_s  submission, Unix seconds
--   vc           virtual cluster; empty: not known
--   user         who submitted it
--   gpus         gang size
--   status       how it ended
--   run_s        run time under the trace's run policy; null: not known or not trusted
--   censored     true when it still ran as the log ended
--   attempts     attempts that it made
--   last_share   share of its run time that its last attempt took
--   flag         why the job itself is not trusted; null: nothing known
select
  epoch_us(job_runs.submitted_at) / 1e6 as submitted_s,
  coalesce(job_runs.vc, '') as vc,
  job_runs.user,
  job_runs.gpus,
  job_runs.status,
  case when job_runs.flag is null then job_runs.run_s end as run_s,
  job_runs.censored,
  job_runs.attempts,
  job_runs.last_s / nullif(job_runs.sum_s, 0) as last_share,
  jobs.flag
from job_runs
inner join jobs using (job_id)
order by job_runs.submitted_at, job_id
