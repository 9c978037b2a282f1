-- Attempts of a table's jobs.
-- One row per row of the table. A row without a start or a run time never ran, or its run is
-- unknown.
with timed as (
  select
    *,
    coalesce(started_at, submitted_at + seconds(wait_s)) as start_at,
    coalesce(ended_at, start_at + seconds(run_s)) as end_at
  from records
)

select
  job_id,
  1 as attempt,
  start_at as started_at,
  end_at as ended_at,
  -- a run time beside start and end is kept, as it may differ; elsewhere it gives the end
  case when start_at is null or ended_at is not null then run_s end as run_s,
  gpus,
  end_reason,
  exit_code,
  ended_by,
  wait_reason,
  source_file,
  source_line,
  raw,
  reject
from timed
