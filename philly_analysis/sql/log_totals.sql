-- How many jobs and attempts does the scheduler log hold, and how many are incomplete?
-- One row, over the jobs in gpu_jobs; cpu_only_jobs counts the other jobs.
--   jobs                   jobs submitted
--   cpu_only_jobs          jobs that requested no GPU
--   users                  users
--   vcs                    virtual clusters
--   attempts               attempts of the jobs
--   gpu_h                  allocated GPU hours
--   jobs_without_attempts  jobs without an attempt
--   jobs_running           jobs that were still running at the end of the log
--   jobs_flagged           jobs whose times are not trusted
--   jobs_of_nobody         jobs whose user or virtual cluster is not recorded
--   attempts_untimed       attempts on GPUs without a known run time
--   attempts_endless       attempts on GPUs without a known end
select
  count(*) as jobs,
  (
    select count(*)
    from jobs
    where gpus = 0
  ) as cpu_only_jobs,
  count(distinct "user") as users,
  count(distinct vc) as vcs,
  coalesce(sum(attempts), 0)::bigint as attempts,
  coalesce(total(gpu_h), 0) as gpu_h,
  count(*) filter (where attempts = 0) as jobs_without_attempts,
  count(*) filter (where censored) as jobs_running,
  count(*) filter (where flag is not null) as jobs_flagged,
  count(*) filter (where "user" is null or vc is null) as jobs_of_nobody,
  (
    select count(*)
    from attempt_runs
    where run_s is null and gpus > 0
  ) as attempts_untimed,
  (
    select count(*)
    from attempt_runs
    where until_at is null and gpus > 0
  ) as attempts_endless
from job_runs
