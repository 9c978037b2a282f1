-- materialized
-- Which pods belong to which job of Kueue?
-- One row per pod and job. The pod names its Workload, or the Workload's owner owns the pod.
with owned as (
  select distinct
    life,
    unnest(owner_uids) as owner_uid
  from kubernetes_workloads
  where fault is null
),

names as (
  select distinct
    life,
    name
  from kubernetes_workloads
  where fault is null
),

pod_owners as (
  select
    uid,
    uid as owner_uid
  from latest_pods
  union all
  select
    p.uid,
    a.ancestor_uid as owner_uid
  from latest_pods as p
  inner join ancestors as a using (uid)
)

select
  pod_owners.uid,
  owned.life
from pod_owners
inner join owned using (owner_uid)
union
select
  p.uid,
  names.life
from latest_pods as p
inner join names
  on p.workload = names.name
