-- Jobs of a Kubernetes cluster.
-- One row per job of Kueue, Job or pod without Kueue, and per object that is not valid.
with admitted_queues as (
  select
    life,
    max_by(cluster_queue, last_s) as cluster_queue
  from kubernetes_workloads
  where fault is null and cluster_queue is not null
  group by life
),

local_queues as (
  select
    name,
    max_by(cluster_queue, last_s) as cluster_queue
  from kubernetes_queues
  where fault is null and cluster_queue is not null and name <> cluster_queue
  group by name
)

select
  lives.job_id,
  coalesce(a.cluster_queue, q.cluster_queue, w.queue) as vc,
  w.gpus,
  moment(w.submitted_s) as submitted_at,
  case
    when w.finished_s is not null then w.status
    when not w.active and w.admitted_s is null then 'Killed'
  end as status,
  w.cpus,
  w.mem_gb,
  w.servers,
  w.time_limit_s,
  w.namespace as account,
  w.priority_class as qos,
  w.source_file,
  w.source_line,
  w.raw,
  null::varchar as reject
from latest_workloads as w
inner join lives using (life)
left join admitted_queues as a using (life)
left join local_queues as q
  on w.queue = q.name
union all
select
  lives.job_id,
  p.queue as vc,
  p.gpus,
  moment(p.created_s) as submitted_at,
  p.status,
  p.cpus,
  p.mem_gb,
  null::integer as servers,
  p.time_limit_s,
  p.namespace as account,
  p.priority_class as qos,
  p.source_file,
  p.source_line,
  p.name as raw,
  null::varchar as reject
from plain_runs as p
inner join lives using (life)
union all by name
select * exclude (target)
from faulty_objects
where target = 'jobs'
