-- How long did each job run, and what did it cost?
-- One row per job.
--   job_id            job
--   vc                virtual cluster
--   user              who submitted it
--   gpus              gang size
--   status            how it ended
--   submitted_at      when it was submitted
--   first_started_at  start of its first attempt
--   last_ended_at     end of its last attempt; null while it runs
--   attempts          attempts that it made
--   span_s            first start to last end: waits between attempts are in it
--   sum_s             sum of its attempts, those without an end left out
--   last_s            its last attempt
--   run_s             the one of the three that the trace was opened with (run_policy)
--   censored          true when it still ran as the log ended: the four times are lower bounds
--   gpu_h             GPU hours held over all attempts with known times
--   flag              why its times are not trusted; null: nothing known
with bounded as (
  select
    attempts.job_id,
    attempts.attempt,
    attempts.started_at,
    attempts.ended_at,
    attempts.flag,
    coalesce(attempts.gpus, jobs.gpus) as gpus,
    attempts.attempt = max(attempts.attempt) over (partition by attempts.job_id) as is_last,
    -- an attempt without an end still ran as the log ended, if no other attempt followed it
    case
      when attempts.ended_at is not null then attempts.ended_at
      when is_last then snapshot.ended_at
    end as until_at
  from attempts
  inner join jobs using (job_id)
  cross join snapshot
),

runs as (
  select
    job_id,
    count(*) as attempts,
    min_by(started_at, attempt) as first_started_at,
    max_by(until_at, attempt) as until_at,
    -- arg_max would skip nulls: only the last attempt's end counts
    max(ended_at) filter (where is_last) as last_ended_at,
    coalesce(bool_or(is_last and started_at is not null and ended_at is null), false) as censored,
    sum(seconds_between(started_at, until_at)) as sum_s,
    max(seconds_between(started_at, until_at)) filter (where is_last) as last_s,
    sum(seconds_between(started_at, until_at) * gpus) / 3600 as gpu_h,
    min(flag) as flag
  from bounded
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
  runs.last_ended_at,
  coalesce(runs.attempts, 0) as attempts,
  seconds_between(runs.first_started_at, runs.until_at) as span_s,
  runs.sum_s,
  runs.last_s,
  case settings.run_policy
    when 'span' then span_s
    when 'sum' then runs.sum_s
    when 'last' then runs.last_s
  end as run_s,
  coalesce(runs.censored, false) as censored,
  runs.gpu_h,
  coalesce(jobs.flag, runs.flag) as flag
from jobs
left join runs using (job_id)
cross join settings
