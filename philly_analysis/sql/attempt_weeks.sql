-- materialized by job_id
-- In which weeks did each attempt hold its GPUs?
-- One row per attempt with a known run time and week.
--   job_id   identifier of the job
--   attempt  number of the attempt within its job, from 1
--   account  account of the job; (none): not recorded
--   user     user who submitted the job; (none): not recorded
--   vc       virtual cluster; (none): not recorded
--   week     Monday of the week, UTC
--   part     share of the attempt's run time that is in the week; an attempt without a start counts
--            from the job's submission
--   gpu_h    GPU hours allocated in the week; a share of a GPU counts as that share
with spans as (
  select
    runs.job_id,
    runs.attempt,
    coalesce(jobs.account, '(none)') as account,
    coalesce(jobs.user, '(none)') as "user",
    coalesce(jobs.vc, '(none)') as vc,
    coalesce(runs.started_at, jobs.submitted_at) as from_at,
    case
      when runs.started_at is not null then runs.until_at
      else from_at + to_microseconds((1e6 * runs.run_s)::bigint)
    end as until_at,
    runs.run_s * runs.gpus * jobs.gpu_frac / 3600 as gpu_h
  from attempt_runs as runs
  inner join gpu_jobs as jobs using (job_id)
  where runs.run_s is not null
),

weeks as (
  select
    *,
    unnest(generate_series(date_trunc('week', from_at), until_at, interval 7 day)) as week
  from spans
)

select
  job_id,
  attempt,
  account,
  "user",
  vc,
  week::date as week,
  case
    when until_at > from_at
      then
        seconds_between(greatest(from_at, week), least(until_at, week + interval 7 day))
        / seconds_between(from_at, until_at)
    else 1
  end as part,
  gpu_h * part as gpu_h
from weeks
where week < until_at or until_at = from_at
