-- materialized
-- How long did each job run, however one counts it, and what did it cost?
-- One row per job in gpu_jobs.
--   job_id            job
--   vc                virtual cluster
--   user              who submitted it
--   gpus              gang size
--   status            how it ended
--   submitted_at      when it was submitted
--   first_started_at  first start of its attempts
--   last_ended_at     last end of its attempts; null: still running, or unknown
--   attempts          attempts that it made
--   span_s            first start to last end: waits between attempts are in it
--   sum_s             sum of its attempts, those without an end left out
--   last_s            its last attempt
--   censored          true when it still ran as the log ended: the three times are lower bounds
--   gpu_h             GPU hours allocated, over attempts with known times; a part of a GPU counts
--                     in part
--   flag              why its times are not trusted; null: nothing known
with in_order as (
  select
    *,
    attempt = max(attempt) over (partition by job_id) as is_last
  from attempt_runs
),

runs as (
  select
    job_id,
    min(started_at) as first_started_at,
    max(until_at) as until_at,
    bool_or(running) as censored,
    bool_or(is_last and run_s is null) as end_unknown,
    count(*) as runs,
    sum(run_s) as sum_s,
    any_value(run_s) filter (where is_last) as last_s,
    sum(run_s * gpus) / 3600 as gpu_h
  from in_order
  group by job_id
),

made as (
  select
    job_id,
    count(*) as attempts,
    min(flag) as flag
  from attempts
  group by job_id
)

select
  jobs.job_id,
  jobs.vc,
  jobs.user,
  jobs.gpus,
  jobs.status,
  jobs.submitted_at,
  runs.first_started_at,
  case when not runs.censored and not runs.end_unknown then runs.until_at end as last_ended_at,
  coalesce(made.attempts, 0) as attempts,
  case
    when runs.end_unknown then null
    when runs.first_started_at is not null
      then seconds_between(runs.first_started_at, runs.until_at)
    when runs.runs = 1 then runs.sum_s
  end as span_s,
  case when not runs.end_unknown then runs.sum_s end as sum_s,
  runs.last_s,
  coalesce(runs.censored, false) as censored,
  runs.gpu_h * jobs.gpu_frac as gpu_h,
  coalesce(jobs.flag, made.flag, case when runs.end_unknown then 'end_unknown' end) as flag
from gpu_jobs as jobs
left join runs using (job_id)
left join made using (job_id)
