-- Jobs of a Slurm cluster.
-- One row per job number: what its first record asked for, and how its last one ended.
with last_records as (
  select job_id, max_by(state, attempt) as state, max(gpus) as gpus
  from records
  where reject is null
  group by job_id
)

select
  records.job_id,
  records.vc,
  records.user,
  last_records.gpus,
  records.submitted_at,
  -- held or dependent jobs become eligible later; a clock that steps back must not show
  if(records.eligible_at < records.submitted_at, records.submitted_at, records.eligible_at)
    as eligible_at,
  case
    when last_records.state = 'COMPLETED' then 'Pass'
    when last_records.state = 'CANCELLED' then 'Killed'
    when last_records.state in (
      'FAILED', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL'
    ) then 'Failed'
  end as status,
  records.cpus,
  records.mem_gb,
  records.time_limit_s,
  records.source_file,
  records.source_line,
  records.raw,
  null::varchar as reject
from records
inner join last_records using (job_id)
where records.reject is null and records.attempt = 1
