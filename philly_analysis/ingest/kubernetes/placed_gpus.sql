-- materialized
-- Which servers did each attempt hold GPUs of?
-- One row per attempt and server: by its pods, else by the topology assignment of its admission.
with pods as (
  select
    runs.job_id,
    runs.attempt,
    runs.gpus as all_gpus,
    p.uid,
    p.node,
    p.gpus,
    p.scheduled_s,
    p.source_file,
    p.source_line
  from runs
  inner join workload_pods as links using (life)
  inner join latest_pods as p
    on
      links.uid = p.uid
      and runs.admitted_s <= p.scheduled_s
      and coalesce(runs.ended_s > p.scheduled_s, true)
  union all
  select
    runs.job_id,
    runs.attempt,
    runs.gpus as all_gpus,
    p.uid,
    p.node,
    p.gpus,
    p.scheduled_s,
    p.source_file,
    p.source_line
  from runs
  inner join plain_lives as l using (life)
  inner join latest_pods as p
    on l.uid = p.uid
  where p.scheduled_s is not null
),

-- a pod that failed is replaced: the latest pods that fill the gang count
gangs as (
  select *
  from pods
  where node is not null and gpus > 0
  qualify sum(gpus) over (
    partition by job_id, attempt order by scheduled_s desc, uid asc rows unbounded preceding
  ) <= all_gpus
),

by_pods as (
  select
    job_id,
    attempt,
    node,
    sum(gpus)::integer as gpus,
    min(source_file) as source_file,
    min_by(source_line, source_file) as source_line
  from gangs
  group by job_id, attempt, node
),

assigned as (
  select
    lives.job_id,
    a.attempt,
    unnest(a.hosts) as node,
    unnest(a.host_gpus) as gpus,
    a.source_file,
    a.source_line
  from admissions as a
  inner join lives using (life)
)

select * from by_pods
union all
select assigned.*
from assigned
anti join by_pods using (job_id, attempt)
where assigned.gpus > 0
