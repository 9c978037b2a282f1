-- materialized
-- Which Jobs and pods with GPUs ran without Kueue?
-- One row per Job, other owner of pods, or pod without an owner. The GPUs of a Job are its
-- parallelism times the GPUs of a pod. The GPUs of another owner are the GPUs of its pods that did
-- not fail.
with owned as (
  select distinct unnest(owner_uids) as owner_uid
  from kubernetes_workloads
  where fault is null
),

pods as (
  select
    coalesce(owner_uid, uid) as life,
    any_value(coalesce(owner_name, name)) as name,
    any_value(namespace) as namespace,
    any_value(priority_class) as priority_class,
    min(created_s) as created_s,
    min(scheduled_s) as started_s,
    case when bool_and(phase in ('Succeeded', 'Failed')) then max(ended_s) end as ended_s,
    coalesce(sum(gpus) filter (phase <> 'Failed'), sum(gpus)) as gpus,
    sum(cpus) as cpus,
    sum(mem_gb) as mem_gb,
    bool_and(phase = 'Succeeded') as passed,
    max_by(end_reason, ended_s) as end_reason,
    max_by(exit_code, ended_s) as exit_code,
    max(last_s) as last_s,
    min(source_file) as source_file,
    min_by(source_line, source_file) as source_line
  from latest_pods
  anti join workload_pods using (uid)
  where gpus > 0
  group by coalesce(owner_uid, uid)
),

single_jobs as (
  select
    uid as life,
    * exclude (uid)
  from latest_jobs
  where
    gpus > 0
    and uid not in (from owned)
    and coalesce(owner_uid not in (from owned), true)
)

select
  life,
  coalesce(j.name, p.name) as name,
  coalesce(j.namespace, p.namespace) as namespace,
  p.priority_class,
  coalesce(j.created_s, p.created_s) as created_s,
  p.started_s,
  case when p.started_s is not null then coalesce(j.ended_s, p.ended_s) end as ended_s,
  coalesce(j.gpus, p.gpus)::integer as gpus,
  coalesce(j.cpus, p.cpus) as cpus,
  coalesce(j.mem_gb, p.mem_gb) as mem_gb,
  j.time_limit_s,
  case
    when j.ended_s is not null then j.status
    when p.ended_s is not null then if(p.passed, 'Pass', 'Failed')
  end as status,
  case
    when j.status = 'Pass' then 'completed'
    when j.status = 'Failed' then coalesce(nullif(p.end_reason, 'completed'), 'failed')
    when p.ended_s is not null then p.end_reason
  end as end_reason,
  case when coalesce(j.ended_s, p.ended_s) is not null then p.exit_code end as exit_code,
  greatest(j.last_s, p.last_s) as last_s,
  coalesce(j.source_file, p.source_file) as source_file,
  coalesce(j.source_line, p.source_line) as source_line
from single_jobs as j
full join pods as p using (life)
