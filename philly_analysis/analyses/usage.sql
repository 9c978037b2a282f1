-- Who used the cluster, when, and how long did they wait?
-- One row per account, user, virtual cluster and week with a job, a wait or GPU hours.
--   account          account; (none): not known
--   user             user; (none): not known
--   vc               virtual cluster or partition; (none): not known
--   week             Monday of the week, UTC
--   jobs             jobs submitted in it
--   gpu_h            GPU hours allocated in it
--   waits            trusted waits that began in it
--   wait_p50_s       their median, in seconds
--   wait_p90_s       what 90 % of them do not exceed
--   wait_weighted_s  their mean, each weighed by the GPU hours of its attempt afterwards; null
--                    where none are known
with submitted as (
  select
    coalesce(account, '(none)') as account,
    coalesce("user", '(none)') as "user",
    coalesce(vc, '(none)') as vc,
    date_trunc('week', submitted_at)::date as week,
    count(*) as jobs
  from gpu_jobs
  group by all
),

held as (
  select
    account,
    "user",
    vc,
    week,
    sum(gpu_h) as gpu_h
  from attempt_weeks
  group by all
),

weighed as (
  select
    coalesce(jobs.account, '(none)') as account,
    coalesce(jobs.user, '(none)') as "user",
    coalesce(jobs.vc, '(none)') as vc,
    date_trunc('week', w.since_at)::date as week,
    w.wait_s,
    runs.run_s * runs.gpus * jobs.gpu_frac as weight
  from trusted_waits as w
  inner join gpu_jobs as jobs using (job_id)
  left join attempt_runs as runs using (job_id, attempt)
),

waited as (
  select
    account,
    "user",
    vc,
    week,
    count(*) as waits,
    quantile_cont(wait_s, 0.5) as wait_p50_s,
    quantile_cont(wait_s, 0.9) as wait_p90_s,
    sum(wait_s * weight) / nullif(sum(weight), 0) as wait_weighted_s
  from weighed
  group by all
)

select
  account,
  "user",
  vc,
  week,
  coalesce(submitted.jobs, 0) as jobs,
  coalesce(held.gpu_h, 0) as gpu_h,
  coalesce(waited.waits, 0) as waits,
  waited.wait_p50_s,
  waited.wait_p90_s,
  waited.wait_weighted_s
from submitted
full join held using (account, "user", vc, week)
full join waited using (account, "user", vc, week)
order by all
