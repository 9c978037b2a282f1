-- Which facts about jobs and attempts does the scheduler log record?
-- One row.
--   jobs            jobs
--   gpu_jobs        jobs on GPUs
--   small_jobs      jobs on no GPU or on less than one GPU
--   began_at        first submission of the log
--   ended_at        last submission
--   users           jobs with a recorded user
--   distinct_users  distinct users
--   vcs             jobs whose virtual cluster is known
--   statuses        jobs whose final status is known
--   gangs           jobs whose gang size is known
--   time_limits     jobs whose time limit is known
--   clusters        clusters that the jobs name
--   attempts        attempts
--   starts          attempts whose start is known
--   run_times       attempts whose run time is known
--   retries         attempts after a job's first
--   end_reasons     attempts whose end has a recorded reason
--   given_quotas    virtual clusters whose quota is given
with job_counts as (
  select
    count(*) as jobs,
    count(*) filter (where gpus > 0) as gpu_jobs,
    count(*) filter (where gpus = 0 or gpu_frac < 1) as small_jobs,
    min(submitted_at) as began_at,
    max(submitted_at) as ended_at,
    count("user") as users,
    count(distinct "user") as distinct_users,
    count(vc) as vcs,
    count(status) as statuses,
    count(gpus) as gangs,
    count(time_limit_s) as time_limits,
    count(distinct cluster) as clusters
  from jobs
),

attempt_counts as (
  select
    count(*) as attempts,
    count(started_at) as starts,
    count(coalesce(run_s, epoch(ended_at - started_at))) as run_times,
    count(*) filter (where attempt > 1) as retries,
    count(end_reason) as end_reasons
  from attempts
),

quota_counts as (
  select count(gpus) as given_quotas
  from given_quotas
)

select
  job_counts.*,
  attempt_counts.*,
  quota_counts.*
from job_counts
cross join attempt_counts
cross join quota_counts
