-- How long do jobs run that fail?
-- One row per unsuccessful job on GPUs with a known run time.
--   user   who submitted it
--   day    day of its submission, UTC
--   run_s  seconds that its last attempt ran
select
  "user",
  submitted_at::date as day,
  last_s as run_s
from job_runs
where failed(status) and gpus is not null and flag is null and last_s is not null and not censored
order by all
