-- How long did each job run, as the archive's notebook counts it?
-- One row per job whose first attempt started, whose last attempt ended, and whose gang is in a
-- bucket. No job is censored: one that still runs is left out.
--   job_id  job
--   gpus    GPUs of the first attempt
--   gang    gang-size bucket
--   run_s   last attempt's end minus first attempt's start
with ordered as (
  select
    job_id,
    coalesce(a.gpus, jobs.gpus) as gpus,
    a.started_at,
    a.ended_at,
    a.attempt = min(a.attempt) over (partition by job_id) as is_first,
    a.attempt = max(a.attempt) over (partition by job_id) as is_last
  from attempts as a
  inner join jobs using (job_id)
),

ends as (
  select
    job_id,
    max(gpus) filter (where is_first) as gpus,
    max(started_at) filter (where is_first) as started_at,
    max(ended_at) filter (where is_last) as ended_at
  from ordered
  group by job_id
)

select
  job_id,
  gpus,
  gang_bucket(gpus) as gang,
  seconds_between(started_at, ended_at) as run_s
from ends
where gpus > 0 and run_s is not null
