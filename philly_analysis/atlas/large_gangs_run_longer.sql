-- How long does each job run, by gang size?
-- One row per job of the workload, on GPUs.
--   user   who submitted it
--   day    day of its submission, UTC
--   gang   gang-size bucket
--   run_s  seconds that it ran; null: it still ran as the log ended
select
  "user",
  submitted_at::date as day,
  gang,
  case when not censored then run_s end as run_s
from trusted_runs
order by all
