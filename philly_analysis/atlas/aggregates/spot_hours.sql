-- When are jobs submitted?
-- One row per hour with a submission after the first day, which holds all jobs that were already
-- running.
--   day   day of the trace, from an arbitrary Monday
--   hour  hour of the day, 0 to 23
--   jobs  jobs
select
  date '2024-01-01' + (submit_hour // 24)::integer as day,
  submit_hour % 24 as hour,
  jobs
from published
where submit_hour >= 24 and jobs > 0
order by all
