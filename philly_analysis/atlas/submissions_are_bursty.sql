-- How much does the number of submissions change from one hour to the next?
-- One row per (day, level) of the hours after the first with a submission, to the last.
--   day      day, UTC
--   level    jobs submitted in an hour: 0, 1-3, 4-15, >15
--   hours    hours of that level
--   jobs     jobs on GPUs submitted in them
--   squared  sum of the squares of their changes against the hour before
with counts as (
  select
    date_trunc('hour', submitted_at) as began_at,
    count(*) as jobs
  from jobs
  where flag is null and coalesce(gpus, 1) > 0
  group by all
),

spans as (
  select unnest(generate_series(min(began_at), max(began_at), interval 1 hour)) as began_at
  from counts
),

hours as (
  select
    spans.began_at,
    coalesce(counts.jobs, 0) as jobs,
    coalesce(counts.jobs, 0)
    - lag(coalesce(counts.jobs, 0)) over (order by spans.began_at) as change
  from spans
  left join counts on spans.began_at = counts.began_at
)

select
  began_at::date as day,
  case when jobs = 0 then '0' when jobs < 4 then '1-3' when jobs < 16 then '4-15' else '>15' end
    as level,
  count(*) as hours,
  sum(jobs) as jobs,
  sum(change ** 2) as squared
from hours
where change is not null
group by all
order by all
