-- How much does the number of submissions change from one hour to the next?
-- One row per (day, level), over the hours after the first day.
--   day      day of the trace, from an arbitrary Monday
--   level    jobs submitted in an hour: 0, 1-3, 4-15, >15
--   hours    hours with so many submissions
--   jobs     jobs submitted in the hours of the level
--   squared  sum of squared changes in submissions from one hour to the next
with spans as (
  select unnest(range(24, max(submit_hour) + 1)) as submit_hour
  from published
),

hours as (
  select
    spans.submit_hour,
    coalesce(published.jobs, 0) as jobs,
    coalesce(published.jobs, 0)
    - lag(coalesce(published.jobs, 0)) over (order by spans.submit_hour) as change
  from spans
  left join published using (submit_hour)
)

select
  date '2024-01-01' + (submit_hour // 24)::integer as day,
  case when jobs = 0 then '0' when jobs < 4 then '1-3' when jobs < 16 then '4-15' else '>15' end
    as level,
  count(*) as hours,
  sum(jobs) as jobs,
  sum(change ** 2) as squared
from hours
where change is not null
group by all
order by all
