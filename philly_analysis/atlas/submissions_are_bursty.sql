-- How much does the number of submissions change from one hour to the next?
-- One row per (day, level). The hours end with the last submission, and begin with the second hour
-- that has a submission.
--   day      day, UTC
--   level    jobs submitted in an hour: 0, 1-3, 4-15, >15
--   hours    hours with so many submissions
--   jobs     jobs on GPUs submitted in the hours of the level
--   squared  sum of squared changes in submissions from one hour to the next
with hours as (
  select
    *,
    jobs - lag(jobs) over (order by hour) as change
  from arrival_hours
)

select
  hour::date as day,
  case when jobs = 0 then '0' when jobs < 4 then '1-3' when jobs < 16 then '4-15' else '>15' end
    as level,
  count(*) as hours,
  sum(jobs) as jobs,
  sum(change ** 2) as squared
from hours
where change is not null
group by all
order by all
