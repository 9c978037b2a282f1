-- How long did each job run, by the archive notebook's definition?
-- One row per job with a start of the first attempt, an end of the last attempt, and a gang in a
-- bucket. Running jobs are excluded, so no job is censored.
--   job_id  identifier of the job
--   gpus    GPUs of the job's first attempt
--   gang    gang-size bucket
--   run_s   seconds from the first attempt's start to the last attempt's end
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
