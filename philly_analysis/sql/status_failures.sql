-- materialized by job_id
-- Which attempts failed, by statuses, retries and recorded ends?
-- One row per attempt of a job that was retried afterwards, or that ended unsuccessful with the
-- attempt.
--   job_id     identifier of the job
--   attempt    number of the attempt within its job, from 1
--   user       user who submitted the job
--   ending     outcome of the job: retried, then passed, killed, unsuccessful or unknown; or last
--              attempt, unsuccessful
--   exit_code  exit code of the attempt; null: not recorded
--   run_s      run time to failure in seconds; null: not known, or the times are not trusted
--   gpu_h      GPU hours allocated to the attempt until its end; null: not known
with attempts_in_order as (
  select
    attempts.job_id,
    attempts.attempt,
    jobs.user,
    attempts.exit_code,
    attempts.end_reason,
    jobs.status,
    attempts.attempt < max(attempts.attempt) over (partition by attempts.job_id) as followed,
    case when runs.flag is null then runs.run_s end as run_s,
    runs.gpus
  from attempts
  inner join gpu_jobs as jobs using (job_id)
  left join attempt_runs as runs using (job_id, attempt)
)

select
  job_id,
  attempt,
  "user",
  case
    when not followed then 'last attempt, unsuccessful'
    when passed(status) then 'retried, then passed'
    when killed(status) then 'retried, then killed'
    when failed(status) then 'retried, then unsuccessful'
    else 'retried, end unknown'
  end as ending,
  exit_code,
  run_s,
  run_s * gpus / 3600 as gpu_h
from attempts_in_order
where
  (followed or failed(status))
  -- an attempt that the scheduler, an operator or a failed server ended did not fail
  and coalesce(
    end_reason not in (
      'completed', 'killed', 'migrated', 'resized', 'preempted', 'requeued', 'node_failure',
      'rejected'
    ),
    true
  )
