-- From which day on does the log have all jobs? Of earlier days it has only long jobs.
-- One row.
--   since_at  start of the first day with a quarter of the submissions that a typical job's day
--             has; null where the log is complete within a week of its first job
with days as (
  select
    date_trunc('day', try_strptime(entry ->> '$.submitted_time', '%Y-%m-%d %H:%M:%S')) as day,
    count(*) as jobs
  from cluster_job_log
  group by day
),

typical as (
  -- the median over jobs, not over days: it is robust to many early days with few jobs
  select median(jobs) as jobs
  from (
    select days.jobs, unnest(range(days.jobs)) as job
    from days
    where days.day is not null
  ) as jobs
),

dense as (
  select min(days.day) as since_at
  from days
  cross join typical
  where days.jobs * 4 >= typical.jobs
)

select case when dense.since_at >= (select min(day) from days) + interval 7 day
  then dense.since_at end as since_at
from dense
