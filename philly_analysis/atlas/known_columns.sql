-- What does the scheduler log say of its jobs and attempts?
-- One row.
--   jobs            jobs
--   gpu_jobs        of these, jobs on GPUs
--   small_jobs      jobs on no GPU, or on a part of one
--   began_at        first submission
--   ended_at        last submission
--   users           jobs whose user is known
--   distinct_users  different ones
--   vcs             jobs whose virtual cluster is known
--   statuses        jobs whose end is known
--   gangs           jobs whose gang size is known
--   time_limits     jobs whose time limit is known
--   clusters        clusters that the jobs name
--   attempts        attempts
--   starts          attempts whose start is known
--   run_times       attempts whose run time is known
--   retries         attempts after a job's first
--   end_reasons     attempts whose end has a recorded reason
--   given_quotas    virtual clusters whose quota is given
with of_jobs as (
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

of_attempts as (
  select
    count(*) as attempts,
    count(started_at) as starts,
    count(coalesce(run_s, epoch(ended_at - started_at))) as run_times,
    count(*) filter (where attempt > 1) as retries,
    count(end_reason) as end_reasons
  from attempts
),

of_quotas as (
  select count(gpus) as given_quotas
  from given_quotas
)

select
  of_jobs.*,
  of_attempts.*,
  of_quotas.*
from of_jobs
cross join of_attempts
cross join of_quotas
