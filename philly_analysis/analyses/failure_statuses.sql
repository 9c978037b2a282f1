-- What do statuses, exit codes and retries alone say about failed attempts?
-- One row per (ending, exit code), and one over all of them.
--   ending      what became of the job: retried and passed, killed, unsuccessful or unknown; or
--               last attempt, when the job ended unsuccessful with it; all: every failed attempt
--   exit_code   exit code of the attempt; null: not recorded
--   attempts    attempts that failed: another followed, or the job ended unsuccessful
--   jobs        jobs they belong to
--   rtf_p50_s   median run time to failure
--   early_pct   share of those with a known run time that ended within 5 minutes
--   gpu_h       GPU hours that they held
with in_order as (
  select
    attempts.job_id,
    attempts.exit_code,
    attempts.end_reason,
    jobs.status,
    attempts.attempt < max(attempts.attempt) over (partition by attempts.job_id) as followed,
    case when runs.flag is null then runs.run_s end as run_s,
    runs.gpus
  from attempts
  inner join gpu_jobs as jobs using (job_id)
  left join attempt_runs as runs
    on attempts.job_id = runs.job_id and attempts.attempt = runs.attempt
),

failed as (
  select
    *,
    case
      when not followed then 'last attempt, unsuccessful'
      when passed(status) then 'retried, then passed'
      when killed(status) then 'retried, then killed'
      when failed(status) then 'retried, then unsuccessful'
      else 'retried, end unknown'
    end as ending
  from in_order
  where
    (followed or failed(status))
    -- what scheduler or operator ended did not fail, nor what a server took down
    and coalesce(
      end_reason not in (
        'completed', 'killed', 'migrated', 'resized', 'preempted', 'requeued', 'node_failure'
      ),
      true
    )
)

select
  coalesce(ending, 'all') as ending,
  exit_code,
  count(*) as attempts,
  count(distinct job_id) as jobs,
  quantile_cont(run_s, 0.5) as rtf_p50_s,
  100 * avg((run_s <= 300)::int) as early_pct,
  sum(run_s * gpus) / 3600 as gpu_h
from failed
group by grouping sets ((ending, exit_code), ())
having count(*) > 0
order by all
