-- Attempts of an accounting log.
-- One row per line of the log. An attempt without a start never ran: its job waits or was deleted.
with deletions as (
  select
    job_id,
    max_by(ended_by, written_s) as ended_by
  from records
  where event = 'deleted'
  group by job_id
),

last_attempts as (
  select
    job_id,
    max(attempt) as attempt
  from records
  where reject is null
  group by job_id
),

sizes as (
  select
    job_id,
    attempt,
    max(gpus) as gpus
  from allocations
  group by job_id, attempt
)

select
  r.job_id,
  r.attempt,
  moment(r.started_s) as started_at,
  moment(case when r.started_s is not null then r.ended_s end) as ended_at,
  sizes.gpus,
  case
    when deletions.job_id is not null and r.started_s is not null and r.end_reason = 'failed'
      then 'killed'
    when deletions.job_id is not null and r.started_s is not null
      then coalesce(r.end_reason, 'killed')
    when r.started_s is not null then r.end_reason
  end as end_reason,
  case when r.started_s is not null then r.exit_code end as exit_code,
  deletions.ended_by,
  r.source_file,
  r.source_line,
  r.raw,
  r.reject
from records as r
left join sizes
  on r.job_id = sizes.job_id and r.attempt = sizes.attempt and r.reject is null
left join last_attempts
  on r.job_id = last_attempts.job_id
left join deletions
  on r.job_id = deletions.job_id and r.attempt = last_attempts.attempt
