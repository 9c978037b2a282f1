-- When in the week are jobs submitted?
-- One row per hour of the week that the log covers.
--   weekday        1 Monday to 7 Sunday, UTC
--   hour           hour of the day, UTC
--   hours          hours of this weekday and hour from the first submission to the last
--   jobs           jobs submitted in these hours of the week
--   jobs_per_hour  jobs divided by hours
select
  isodow(hour)::integer as weekday,
  hour(hour)::integer as hour,
  count(*) as hours,
  sum(jobs)::bigint as jobs,
  avg(jobs) as jobs_per_hour
from arrival_hours
group by all
order by all
