-- What do statuses, exit codes and retries alone say about failed attempts?
-- One row per (ending, exit code), and one over all of them.
--   ending      what became of the job, as in status_failures; all: every failed attempt
--   exit_code   exit code of the attempt; null: not recorded
--   attempts    attempts that failed: another followed, or the job ended unsuccessful
--   jobs        jobs they belong to
--   rtf_p50_s   median run time to failure
--   early_pct   share of those with a known run time that ended within 5 minutes
--   gpu_h       GPU hours allocated to them
select
  coalesce(ending, 'all') as ending,
  exit_code,
  count(*) as attempts,
  count(distinct job_id) as jobs,
  quantile_cont(run_s, 0.5) as rtf_p50_s,
  100 * avg((run_s <= 300)::int) as early_pct,
  sum(gpu_h) as gpu_h
from status_failures
group by grouping sets ((ending, exit_code), ())
having count(*) > 0
order by all
