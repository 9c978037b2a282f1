-- Who used the cluster, when, and how long did they wait?
-- One row per account, user, virtual cluster and week with a job, a wait or GPU hours.
--   account          account of the job; (none): not recorded
--   user             user; (none): not recorded
--   vc               virtual cluster or partition; (none): not recorded
--   week             Monday of the week, UTC
--   jobs             jobs submitted in the week
--   gpu_h            GPU hours allocated in the week
--   waits            trusted waits that began in the week
--   wait_p50_s       median of the waits in seconds
--   wait_p90_s       90th percentile of the waits in seconds
--   wait_weighted_s  mean of the waits in seconds, weighted by the GPU hours of the attempts; null:
--                    no GPU hours are known
with submissions_by_week as (
  select
    coalesce(account, '(none)') as account,
    coalesce("user", '(none)') as "user",
    coalesce(vc, '(none)') as vc,
    date_trunc('week', submitted_at)::date as week,
    count(*) as jobs
  from gpu_jobs
  group by all
),

-- few jobs, if any
shared_jobs as (
  select
    job_id,
    gpu_frac
  from gpu_jobs
  where gpu_frac < 1
),

held as (
  select
    account,
    "user",
    vc,
    week,
    total(gpu_h) as gpu_h
  from attempt_weeks
  group by all
),

-- trusted waits: started attempts of queued_attempts
weighted_waits as (
  select
    coalesce(w.account, '(none)') as account,
    coalesce(w.user, '(none)') as "user",
    coalesce(w.vc, '(none)') as vc,
    date_trunc('week', w.since_at)::date as week,
    w.wait_s,
    runs.run_s * runs.gpus * coalesce(shared_jobs.gpu_frac, 1) as weight
  from queued_attempts as w
  left join attempt_runs as runs using (job_id, attempt)
  left join shared_jobs using (job_id)
  where w.outcome = 'started'
),

waits_by_week as (
  select
    account,
    "user",
    vc,
    week,
    count(*) as waits,
    quantile_cont(wait_s, 0.5) as wait_p50_s,
    quantile_cont(wait_s, 0.9) as wait_p90_s,
    total(wait_s * weight) / nullif(total(weight), 0) as wait_weighted_s
  from weighted_waits
  group by all
)

select
  account,
  "user",
  vc,
  week,
  coalesce(submissions_by_week.jobs, 0) as jobs,
  coalesce(held.gpu_h, 0) as gpu_h,
  coalesce(waits_by_week.waits, 0) as waits,
  waits_by_week.wait_p50_s,
  waits_by_week.wait_p90_s,
  waits_by_week.wait_weighted_s
from submissions_by_week
full join held using (account, "user", vc, week)
full join waits_by_week using (account, "user", vc, week)
order by all
