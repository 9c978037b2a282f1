-- How many jobs were submitted in each hour?
-- One row per hour from the first submission to the last, hours without any included. Jobs with a
-- flag are left out: they may be the survivors of arrivals that the log lacks.
--   hour  hour, UTC
--   jobs  jobs submitted
with submitted as (
  select
    date_trunc('hour', submitted_at) as hour,
    count(*) as jobs
  from gpu_jobs
  where flag is null
  group by all
),

hours as (
  select unnest(generate_series(min(hour), max(hour), interval 1 hour)) as hour
  from submitted
)

select
  hours.hour,
  coalesce(submitted.jobs, 0) as jobs
from hours
left join submitted
  on hours.hour = submitted.hour
