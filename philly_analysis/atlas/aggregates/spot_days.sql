-- On which days of the week are jobs submitted?
-- One row per day after the first day, which holds all jobs that were already running.
--   day      day of the trace, from an arbitrary Monday
--   weekday  place of the day in a week of the trace, 0 to 6
--   jobs     jobs
select
  date '2024-01-01' + submit_day::integer as day,
  submit_day % 7 as weekday,
  jobs
from published
where submit_day >= 1
order by all
