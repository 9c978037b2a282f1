-- Attempts of Slurm jobs.
-- One row per reading of a record. Attempts without a start never ran: the job still waits, or
-- ended before a start.
with users as (
  select
    cluster,
    uid,
    min("user") as user
  from user_ids
  group by all
)

select
  r.job_id,
  r.attempt,
  r.started_at,
  r.ended_at,
  -- sacct excludes the time in which a job was suspended
  case
    when r.suspended_s > 0 and r.started_at is not null and r.ended_at is not null then r.elapsed_s
  end as run_s,
  r.gpus,
  case
    when r.state = 'FAILED' and r.never_ran then 'rejected'
    when r.state = 'COMPLETED' then 'completed'
    when r.state = 'FAILED' then 'failed'
    when r.state = 'OUT_OF_MEMORY' then 'out_of_memory'
    when r.state = 'CANCELLED' then 'killed'
    when r.state = 'PREEMPTED' then 'preempted'
    when r.state in ('REQUEUED', 'REQUEUE_HOLD', 'REQUEUE_FED', 'SPECIAL_EXIT') then 'requeued'
    when r.state = 'RESIZING' then 'resized'
    when r.state in ('TIMEOUT', 'DEADLINE') then 'time_limit'
    when r.state in ('NODE_FAIL', 'BOOT_FAIL') then 'node_failure'
  end as end_reason,
  -- as a shell counts: 128 and the signal
  case when r.signal > 0 then 128 + r.signal else r.code end as exit_code,
  case r.ended_by when '0' then 'root' else coalesce(users.user, r.ended_by) end as ended_by,
  case
    when r.end_overwritten then 'end_overwritten'
    when r.started_at is null and r.node_list is not null then 'start_unknown'
  end as flag,
  if(r.eligible_at < r.submitted_at, r.submitted_at, r.eligible_at) as eligible_at,
  r.wait_reason,
  r.source_file,
  r.source_line,
  r.raw,
  r.reject
from allocations as r
left join users
  on r.ended_by = users.uid and r.cluster is not distinct from users.cluster
