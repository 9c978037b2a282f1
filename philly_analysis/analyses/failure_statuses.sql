-- What do statuses, exit codes and retries show about failed attempts?
-- One row per (ending, exit code), and one over all failed attempts.
--   ending     outcome of the job, as in status_failures; all: every failed attempt
--   exit_code  exit code of the attempt; null: not recorded
--   attempts   failed attempts: the job was retried, or ended unsuccessful
--   jobs       jobs that the failed attempts belong to
--   rtf_p50_s  median run time to failure in seconds
--   early_pct  share of the failed attempts with a known run time that ended within 5 minutes, %
--   gpu_h      GPU hours allocated to the attempts
select
  coalesce(ending, 'all') as ending,
  exit_code,
  count(*) as attempts,
  count(distinct job_id) as jobs,
  quantile_cont(run_s, 0.5) as rtf_p50_s,
  100 * avg((run_s <= 300)::int) as early_pct,
  total(gpu_h) as gpu_h
from status_failures
group by grouping sets ((ending, exit_code), ())
having count(*) > 0
order by all
