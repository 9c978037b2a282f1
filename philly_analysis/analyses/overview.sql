-- What does the trace cover, day by day?
-- One row per day from the first submission to the last moment of the log.
--   day       day, UTC
--   jobs      jobs of gpu_jobs submitted on the day
--   attempts  attempts of gpu_jobs started on the day
--   gpu_h     allocated GPU hours
with days as (
  select unnest(
    generate_series(began_at::date, ended_at::date, interval 1 day)
  )::date as day
  from snapshot
),

submitted as (
  select
    submitted_at::date as day,
    count(*) as jobs
  from gpu_jobs
  group by all
),

started as (
  select
    started_at::date as day,
    count(*) as attempts
  from attempts
  anti join cpu_only_jobs using (job_id)
  group by all
),

held as (
  select
    day,
    total(gpu_h) as gpu_h
  from vc_days
  group by all
)

select
  days.day,
  coalesce(submitted.jobs, 0) as jobs,
  coalesce(started.attempts, 0) as attempts,
  coalesce(held.gpu_h, 0) as gpu_h
from days
left join submitted using (day)
left join started using (day)
left join held using (day)
order by all
