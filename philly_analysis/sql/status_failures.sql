-- Which attempts failed, by statuses, retries and what ended them alone?
-- One row per attempt that another followed, or with which the job ended unsuccessful.
--   job_id     job
--   attempt    which attempt, from 1
--   user       who submitted it
--   ending     what became of the job: retried and passed, killed, unsuccessful or unknown; or
--              last attempt, when the job ended unsuccessful with it
--   exit_code  exit code of the attempt; null: not recorded
--   run_s      run time to failure; null: unknown or its times not trusted
--   gpu_h      GPU hours allocated to it until then; null: unknown
with in_order as (
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
from in_order
where
  (followed or failed(status))
  -- what scheduler or operator ended did not fail, nor what a server took down
  and coalesce(
    end_reason not in (
      'completed', 'killed', 'migrated', 'resized', 'preempted', 'requeued', 'node_failure',
      'rejected'
    ),
    true
  )
