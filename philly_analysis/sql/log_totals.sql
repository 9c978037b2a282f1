-- How much is in the scheduler log, and how much of it is not whole?
-- One row, of the jobs in gpu_jobs; cpu_only_jobs counts the others.
--   jobs                   jobs submitted
--   cpu_only_jobs          jobs that asked for no GPU
--   users                  users
--   vcs                    virtual clusters
--   attempts               attempts that the jobs made
--   gpu_h                  GPU hours allocated
--   jobs_without_attempts  jobs that never got an attempt
--   jobs_running           jobs that still ran as the log ended
--   jobs_flagged           jobs whose times are not trusted
--   jobs_of_nobody         jobs whose user or virtual cluster is not known
--   attempts_untimed       attempts on GPUs whose run time is unknown
--   attempts_endless       attempts on GPUs whose end is unknown
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
  coalesce(sum(gpu_h), 0) as gpu_h,
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
