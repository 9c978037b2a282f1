-- materialized
-- Which jobs with GPUs ran without Kueue?
-- One row per JobSet, RayJob, PodGroup or similar, Job, other owner of pods, or pod without an
-- owner. The GPUs of a PodGroup are the GPUs of the minMember pods that start together. The GPUs of
-- a Job are its parallelism times the GPUs of a pod. The GPUs of another owner are the GPUs of its
-- pods that did not fail.
with pods as (
  select
    l.life,
    any_value(coalesce(p.owner_name, p.name)) as name,
    any_value(p.namespace) as namespace,
    any_value(p.priority_class) as priority_class,
    any_value(g.queue) as queue,
    max(g.min_member) as min_member,
    max(g.gpus) as group_gpus,
    min(p.created_s) as created_s,
    case
      when max(g.min_member) is null then min(p.scheduled_s)
      else list_sort(list(p.scheduled_s) filter (p.scheduled_s is not null))[max(g.min_member)]
    end as started_s,
    case when bool_and(p.phase in ('Succeeded', 'Failed')) then max(p.ended_s) end as ended_s,
    list(p.gpus order by p.created_s, p.uid) as pod_gpus,
    coalesce(sum(p.gpus) filter (p.phase <> 'Failed'), sum(p.gpus)) as gpus,
    sum(p.cpus) as cpus,
    sum(p.mem_gb) as mem_gb,
    bool_and(p.phase = 'Succeeded') as passed,
    max_by(p.end_reason, p.ended_s) as end_reason,
    max_by(p.exit_code, p.ended_s) as exit_code,
    max(p.last_s) as last_s,
    min(p.source_file) as source_file,
    min_by(p.source_line, p.source_file) as source_line
  from latest_pods as p
  inner join plain_lives as l using (uid)
  left join latest_owners as g
    on p.pod_group = g.name and g.min_member is not null
  where p.gpus > 0
  group by l.life
),

single_jobs as (
  select
    l.life,
    any_value(case when l.life = j.uid then j.name else j.owner_name end) as name,
    any_value(j.namespace) as namespace,
    min(j.created_s) as created_s,
    case when count(*) = count(j.ended_s) then max(j.ended_s) end as ended_s,
    sum(j.gpus) as gpus,
    sum(j.cpus) as cpus,
    sum(j.mem_gb) as mem_gb,
    max(j.time_limit_s) as time_limit_s,
    case
      when bool_and(j.status = 'Pass') then 'Pass'
      when bool_or(j.status = 'Failed') then 'Failed'
    end as status,
    max(j.last_s) as last_s,
    min(j.source_file) as source_file,
    min_by(j.source_line, j.source_file) as source_line
  from latest_jobs as j
  inner join plain_lives as l using (uid)
  where j.gpus > 0
  group by l.life
),

-- a PodGroup may wait before it has pods
empty_groups as (
  select
    uid as life,
    min_member,
    gpus as group_gpus,
    queue,
    last_s,
    source_file,
    source_line
  from latest_owners
  where
    min_member is not null
    and gpus > 0
    and owner_uid is null
    and uid not in (select life from plain_lives)
),

members as (
  select
    life,
    coalesce(j.name, p.name) as name,
    coalesce(j.namespace, p.namespace) as namespace,
    p.priority_class,
    coalesce(p.queue, e.queue) as queue,
    coalesce(j.created_s, p.created_s) as created_s,
    p.started_s,
    coalesce(j.ended_s, p.ended_s) as ended_s,
    case
      when coalesce(p.group_gpus, e.group_gpus) > 0 then coalesce(p.group_gpus, e.group_gpus)
      when p.min_member is not null then list_sum(list_slice(p.pod_gpus, 1, p.min_member))
      else coalesce(j.gpus, p.gpus)
    end as gpus,
    coalesce(j.cpus, p.cpus) as cpus,
    coalesce(j.mem_gb, p.mem_gb) as mem_gb,
    j.time_limit_s,
    j.status as job_status,
    p.passed,
    p.ended_s as pods_ended_s,
    p.end_reason as pod_end_reason,
    p.exit_code,
    greatest(j.last_s, p.last_s) as last_s,
    coalesce(j.source_file, p.source_file, e.source_file) as source_file,
    coalesce(j.source_line, p.source_line, e.source_line) as source_line
  from single_jobs as j
  full join pods as p using (life)
  full join empty_groups as e using (life)
),

owned_members as (
  select
    m.* exclude (name, namespace, queue, priority_class, created_s, ended_s),
    coalesce(o.name, m.name) as name,
    coalesce(o.namespace, m.namespace) as namespace,
    coalesce(o.queue, m.queue) as queue,
    coalesce(m.priority_class, o.priority_class) as priority_class,
    coalesce(o.created_s, m.created_s) as created_s,
    coalesce(o.ended_s, m.ended_s) as ended_s,
    case
      when o.ended_s is not null then o.status
      when m.job_status is not null and m.ended_s is not null then m.job_status
      when m.pods_ended_s is not null then if(m.passed, 'Pass', 'Failed')
    end as status,
    o.last_s as owner_last_s
  from members as m
  left join latest_owners as o
    on m.life = o.uid
)

select
  life,
  name,
  namespace,
  queue,
  priority_class,
  created_s,
  started_s,
  case when started_s is not null then ended_s end as ended_s,
  gpus::integer as gpus,
  cpus,
  mem_gb,
  time_limit_s,
  status,
  case
    when status = 'Pass' then 'completed'
    when status = 'Killed' then 'killed'
    when status = 'Failed' then coalesce(nullif(pod_end_reason, 'completed'), 'failed')
  end as end_reason,
  case when ended_s is not null then exit_code end as exit_code,
  last_s as pods_last_s,
  owner_last_s,
  source_file,
  source_line
from owned_members
