-- How many jobs were submitted in each hour?
-- One row per hour from the first submission to the last, hours without submissions included. Jobs
-- with a flag are excluded: earlier arrivals of the same hours may be missing from the log.
--   hour  start of the hour, UTC
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
