-- Which objects are not valid, and which table would they have filled?
-- One row per object and span of equal snapshots.
with objects as (
  from kubernetes_workloads
  union all by name
  from kubernetes_pods
  union all by name
  from kubernetes_jobs
  union all by name
  from kubernetes_owners
)

select
  'jobs' as target,
  source_file,
  source_line,
  raw,
  fault as reject
from objects
where fault is not null
union all
select
  'machines' as target,
  source_file,
  source_line,
  raw,
  fault as reject
from kubernetes_nodes
where fault is not null
