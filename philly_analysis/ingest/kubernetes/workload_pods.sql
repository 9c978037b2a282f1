-- Which pods belong to which job of Kueue?
-- One row per pod and job. The pod names its Workload, or both have the same owner.
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
    p.uid,
    p.workload,
    unnest([p.uid, p.owner_uid, j.owner_uid]) as owner_uid
  from latest_pods as p
  left join latest_jobs as j
    on p.owner_uid = j.uid
)

select
  pod_owners.uid,
  owned.life
from pod_owners
inner join owned using (owner_uid)
union
select
  pod_owners.uid,
  names.life
from pod_owners
inner join names
  on pod_owners.workload = names.name
