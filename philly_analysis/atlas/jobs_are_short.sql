-- How long does each job run?
-- One row per job of the workload on GPUs.
--   user   user who submitted the job
--   day    day on which the job was submitted, UTC
--   run_s  run time in seconds; null: still running at the end of the log
select
  "user",
  submitted_at::date as day,
  case when not censored then run_s end as run_s
from trusted_runs
order by all
