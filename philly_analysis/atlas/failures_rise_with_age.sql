-- Do server failures become more frequent from the first half of the log to the second?
-- One row per (day, late), over attempts on GPUs with a known end.
--   day        day of the attempt's end, UTC
--   late       true in the second half of the days of the log
--   attempts   attempts
--   gpu_years  allocated GPU time in years of 365.25 days
--   failures   attempts that a server failure ended
with runs as (
  select
    runs.until_at::date as day,
    day - min(day) over () > max(day) over () - day as late,
    runs.run_s * runs.gpus / 31557600 as gpu_years,
    attempts.end_reason
  from attempt_runs as runs
  inner join attempts using (job_id, attempt)
  where runs.flag is null and runs.gpus > 0 and runs.until_at is not null
)

select
  day,
  late,
  count(*) as attempts,
  total(gpu_years) as gpu_years,
  count(*) filter (where end_reason = 'node_failure') as failures
from runs
group by all
order by all
