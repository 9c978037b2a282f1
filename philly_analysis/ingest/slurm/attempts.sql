-- Attempts of Slurm jobs.
-- One row per record of sacct; records of a job that waits, or ended without a start, have no
-- start and so never ran.
select
  job_id,
  attempt,
  started_at,
  case when state not in ('RUNNING', 'SUSPENDED', 'PENDING') then ended_at end as ended_at,
  gpus,
  case
    when started_at is null then null
    when state = 'COMPLETED' then 'completed'
    when state in ('FAILED', 'OUT_OF_MEMORY') then 'failed'
    when state = 'CANCELLED' then 'killed'
    when state = 'PREEMPTED' then 'preempted'
    when state in ('TIMEOUT', 'DEADLINE') then 'time_limit'
    when state in ('NODE_FAIL', 'BOOT_FAIL') then 'node_failure'
  end as end_reason,
  -- as a shell counts: 128 and the signal
  case when signal > 0 then 128 + signal else code end as exit_code,
  source_file,
  source_line,
  raw,
  reject
from records
