-- On which days of the week are jobs submitted?
-- One row per day with a submission.
--   day      day, UTC
--   weekday  day of the week, 0 (Sunday) to 6
--   jobs     jobs on GPUs that were submitted on the day
select
  submitted_at::date as day,
  dayofweek(submitted_at) as weekday,
  count(*) as jobs
from gpu_jobs
where flag is null
group by all
order by all
