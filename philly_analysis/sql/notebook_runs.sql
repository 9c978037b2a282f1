-- How long did each job run, as the archive's notebook counts it?
-- One row per job whose first attempt started, whose last attempt ended, and whose gang is in a
-- bucket. No job is censored: one that still runs is left out.
--   job_id  job
--   gpus    GPUs of the first attempt
--   gang    gang-size bucket
--   run_s   last attempt's end minus first attempt's start
with ends as (
  select
    job_id,
    arg_min_null(gpus, attempt) as gpus,
    arg_min_null(started_at, attempt) as started_at,
    arg_max_null(ended_at, attempt) as ended_at
  from attempts
  group by job_id
)

select
  job_id,
  coalesce(ends.gpus, jobs.gpus) as gpus,
  gang_bucket(coalesce(ends.gpus, jobs.gpus)) as gang,
  seconds_between(ends.started_at, ends.ended_at) as run_s
from ends
inner join jobs using (job_id)
where coalesce(ends.gpus, jobs.gpus) > 0 and run_s is not null
