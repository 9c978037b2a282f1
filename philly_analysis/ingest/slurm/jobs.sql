-- Jobs of a Slurm cluster.
-- One row per job number: the request of the number's first record, and the end of the number's
-- last record. A component of a heterogeneous job has a job number of its own. Without --nodes
-- a job asks for at least one server. Where a partition gave several, one server is a minimum.
with last_records as (
  select
    r.job_id,
    max_by(r.state, r.attempt) as state,
    max_by(r.never_ran, r.attempt) as never_ran,
    max(a.gpus) as gpus,
    max_by(a.gpu_frac, a.attempt) as gpu_frac,
    max_by(a.pool, a.attempt) as pool,
    max_by(a.nodes, a.attempt)::integer as nodes,
    max_by(a.asked_nodes, a.attempt) as asked_nodes
  from records as r
  inner join allocations as a using (job_id, attempt)
  where r.reject is null
  group by r.job_id
)

select
  records.job_id,
  records.prefix || records.vc as vc,
  records.user,
  last_records.gpus,
  records.submitted_at,
  -- jobs on hold or with dependencies become eligible later; a clock may step back
  if(records.eligible_at < records.submitted_at, records.submitted_at, records.eligible_at)
    as eligible_at,
  case
    when last_records.state = 'FAILED' and last_records.never_ran then null
    when last_records.state = 'COMPLETED' then 'Pass'
    when last_records.state = 'CANCELLED' then 'Killed'
    when last_records.state in (
      'FAILED', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL'
    ) then 'Failed'
  end as status,
  records.cpus,
  records.mem_gb,
  records.time_limit_s,
  records.cluster,
  records.scheduler_id,
  records.account,
  records.qos,
  last_records.pool,
  allocations.asked_model as gpu_model,
  case
    when last_records.asked_nodes is null then last_records.nodes
    when last_records.nodes > last_records.asked_nodes then null
    when last_records.asked_nodes = 1 and minimums.vc is not null then null
    else last_records.asked_nodes
  end as servers,
  last_records.gpu_frac,
  records.source_file,
  records.source_line,
  records.raw,
  null::varchar as reject
from records
inner join allocations using (job_id, attempt)
inner join last_records using (job_id)
left join minimum_partitions as minimums
  on records.prefix = minimums.prefix and records.vc = minimums.vc
where records.reject is null and records.attempt = 1
