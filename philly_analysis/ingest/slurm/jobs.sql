-- Jobs of a Slurm cluster.
-- One row per job number: the request of the number's first record, and the end of the number's
-- last record. A component of a heterogeneous job has a job number of its own. Without --nodes
-- a job asks for at least one server. Where a partition gave several, one server is a minimum.
with resubmitted as (
  select job_id
  from records
  where reject is null and attempt > 1
),

last_records as (
  select
    job_id,
    max_by(state, attempt) as state,
    max_by(never_ran, attempt) as never_ran,
    max(gpus) as gpus,
    max_by(gpu_frac, attempt) as gpu_frac,
    max_by(pool, attempt) as pool,
    max_by(nodes, attempt) as nodes,
    max_by(asked_nodes, attempt) as asked_nodes
  from allocations
  where job_id in (select job_id from resubmitted)
  group by job_id
),

numbered_jobs as (
  select *
  from allocations
  where attempt = 1 and job_id not in (select job_id from resubmitted)
  union all by name
  select
    a.* replace (
      l.state as state,
      l.never_ran as never_ran,
      l.gpus as gpus,
      l.gpu_frac as gpu_frac,
      l.pool as pool,
      l.nodes as nodes,
      l.asked_nodes as asked_nodes
    )
  from allocations as a
  inner join last_records as l using (job_id)
  where a.attempt = 1
)

select
  j.job_id,
  j.prefix || j.vc as vc,
  j.user,
  j.gpus,
  j.submitted_at,
  -- jobs on hold or with dependencies become eligible later; a clock may step back
  if(j.eligible_at < j.submitted_at, j.submitted_at, j.eligible_at) as eligible_at,
  case
    when j.state = 'FAILED' and j.never_ran then null
    when j.state = 'COMPLETED' then 'Pass'
    when j.state = 'CANCELLED' then 'Killed'
    when j.state in (
      'FAILED', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL'
    ) then 'Failed'
  end as status,
  j.cpus,
  j.mem_gb,
  j.time_limit_s,
  j.cluster,
  j.scheduler_id,
  j.account,
  j.qos,
  j.pool,
  j.asked_model as gpu_model,
  case
    when j.asked_nodes is null then j.nodes
    when j.nodes > j.asked_nodes then null
    when j.asked_nodes = 1 and minimums.vc is not null then null
    else j.asked_nodes
  end as servers,
  j.gpu_frac,
  j.source_file,
  j.source_line,
  j.raw,
  null::varchar as reject
from numbered_jobs as j
left join minimum_partitions as minimums
  on j.prefix = minimums.prefix and j.vc = minimums.vc
