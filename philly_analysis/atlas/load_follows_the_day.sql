-- When are jobs submitted?
-- One row per hour with a submission.
--   day   day, UTC
--   hour  hour of the day, 0 to 23, UTC
--   jobs  jobs on GPUs that were submitted in the hour
select
  hour::date as day,
  hour(hour) as hour,
  jobs
from arrival_hours
where jobs > 0
order by all
