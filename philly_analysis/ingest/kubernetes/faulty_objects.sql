-- Which objects are not valid, and which table would they have filled?
-- One row per object and span of equal snapshots.
select
  'jobs' as target,
  source_file,
  source_line,
  raw,
  fault as reject
from kubernetes_workloads
where fault is not null
union all
select
  'jobs' as target,
  source_file,
  source_line,
  raw,
  fault as reject
from kubernetes_pods
where fault is not null
union all
select
  'jobs' as target,
  source_file,
  source_line,
  raw,
  fault as reject
from kubernetes_jobs
where fault is not null
union all
select
  'jobs' as target,
  source_file,
  source_line,
  raw,
  fault as reject
from kubernetes_owners
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
