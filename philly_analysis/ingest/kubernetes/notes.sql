-- Which notes does the trace of a Kubernetes cluster need?
-- One row per note.
with evictions as (
  select distinct
    uid,
    evicted_s
  from kubernetes_workloads
  where fault is null and evicted_s is not null
)

select
  'The column vc is the cluster queue of a job, and account its namespace. An attempt of Kueue '
  || 'starts when its pods are ready, or when it is admitted if that is not recorded.' as note
from latest_workloads
having count(*) > 0
union all
select
  count(*)::varchar || ' attempts were deleted between two snapshots: how and when they ended is '
  || 'not known, and findings exclude them.' as note
from runs
where deleted
having count(*) > 0
union all
select
  count(*)::varchar || ' attempts were evicted and admitted again between two snapshots: they '
  || 'count until the last snapshot that showed them.' as note
from admissions
where end_missing
having count(*) > 0
union all
select
  count(*)::varchar || ' evictions ended an admission that no snapshot showed. These attempts '
  || 'are missing: take snapshots more often.' as note
from evictions
anti join admissions
  on evictions.uid = admissions.uid and evictions.evicted_s = admissions.ended_s
having count(*) > 0
union all
select
  count(distinct source_file)::varchar || ' snapshots were cut off, such as ' || min(source_file)
  || ': no object counts as deleted because they lack it.' as note
from kubernetes_snapshots
where not complete
having count(*) > 0
union all
select
  count(distinct source_file)::varchar || ' snapshots, such as ' || min(source_file) || ', have no '
  || 'time in their name: the latest time of their objects counts.' as note
from kubernetes_snapshots
where not stamped
having count(*) > 0
union all
select
  count(*)::varchar || ' pods without GPUs and without Kueue are no jobs here.' as note
from latest_pods
anti join workload_pods using (uid)
where coalesce(gpus, 0) = 0
having count(*) > 0
union all
select
  count(*)::varchar || ' attempts started before their job was created, by the clocks of the '
  || 'cluster.' as note
from runs
inner join latest_workloads as w using (life)
where runs.started_s < w.submitted_s
having count(*) > 0
union all
select
  count(distinct name)::varchar || ' Cohorts, such as ' || min(name) || ', have a parent or a '
  || 'quota of their own: their queues lend to one another as one cohort without this quota.'
    as note
from kubernetes_cohorts
where fault is null and (cohort is not null or gpus is not null)
having count(*) > 0
union all
select
  'No node was printed: a server''s GPUs are the most that attempts held on it at once.' as note
from machines
having count(*) > 0 and count(gpus_listed) = 0
