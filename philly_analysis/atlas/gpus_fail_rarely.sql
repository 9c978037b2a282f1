-- How often do server failures end attempts, by allocated GPU time?
-- One row per (day, gang), over attempts on GPUs with a known run time.
--   day        day of the attempt's end, UTC; without a known end the day of submission
--   gang       gang-size bucket
--   attempts   attempts
--   gpu_years  allocated GPU time in years of 365.25 days
--   failures   attempts that a server failure ended
select
  coalesce(runs.until_at, jobs.submitted_at)::date as day,
  gang_bucket(runs.gpus) as gang,
  count(*) as attempts,
  total(runs.run_s * runs.gpus) / 31557600 as gpu_years,
  count(*) filter (where attempts.end_reason = 'node_failure') as failures
from attempt_runs as runs
inner join attempts using (job_id, attempt)
inner join jobs using (job_id)
where runs.flag is null and runs.gpus > 0 and runs.run_s is not null
group by all
order by all
