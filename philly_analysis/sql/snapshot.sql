-- When did the scheduler log begin and end?
-- One row.
--   began_at       first submission
--   complete_from  first submission of a job without a flag: before it, a source may have kept
--                  only part of the jobs
--   ended_at       last moment that the log knows of: jobs without an end were still running then
with submissions as (
  select
    min(submitted_at) as began_at,
    min(submitted_at) filter (where flag is null) as complete_from,
    max(submitted_at) as ended_at
  from jobs
),

runs as (
  select
    max(started_at) as started_at,
    max(ended_at) as ended_at
  from attempts
)

select
  submissions.began_at,
  submissions.complete_from,
  greatest(submissions.ended_at, runs.started_at, runs.ended_at) as ended_at
from submissions
cross join runs
