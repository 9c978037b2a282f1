-- When are jobs submitted?
-- One row per hour in which one was.
--   day   day, UTC
--   hour  hour of the day, 0 to 23, UTC
--   jobs  jobs on GPUs that were submitted in it
select
  submitted_at::date as day,
  hour(submitted_at) as hour,
  count(*) as jobs
from jobs
where flag is null and coalesce(gpus, 1) > 0
group by all
order by all
