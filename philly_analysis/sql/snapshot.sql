-- When did the scheduler log begin and end?
-- One row.
--   began_at       first submission of the log
--   complete_from  first submission of a job without a flag: the source may hold only part of the
--                  earlier jobs
--   ended_at       last recorded moment of the log, at which jobs without an end were still running
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
