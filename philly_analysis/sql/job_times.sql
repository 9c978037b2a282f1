-- materialized by job_id
-- How long did each job run by each run policy, and how many GPU hours did the job take?
-- One row per job in gpu_jobs.
--   job_id            identifier of the job
--   vc                virtual cluster
--   user              user who submitted the job
--   gpus              gang size
--   status            status with which the job ended
--   submitted_at      time at which the job was submitted
--   first_started_at  first start of the job's attempts
--   last_ended_at     last end of the job's attempts; null: still running, or not known
--   attempts          attempts of the job
--   span_s            seconds from the first start to the last end, waits between attempts included
--   sum_s             seconds that the job's attempts ran in sum; attempts without an end do not
--                     count
--   last_s            seconds that the job's last attempt ran
--   censored          true when the job was still running at the end of the log: span_s, sum_s and
--                     last_s are lower bounds
--   gpu_h             GPU hours allocated to the attempts with known times; a share of a GPU counts
--                     as that share
--   flag              reason for which the times are not trusted; null: the times are trusted
with runs as (
  select
    job_id,
    min(started_at) as first_started_at,
    max(until_at) as until_at,
    bool_or(running) as censored,
    count(*) as runs,
    sum(run_s) as sum_s,
    arg_max_null(run_s, attempt) as last_s,
    last_s is null as end_unknown,
    sum(run_s * gpus) / 3600 as gpu_h
  from attempt_runs
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
