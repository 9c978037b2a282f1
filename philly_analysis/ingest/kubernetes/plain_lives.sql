-- materialized
-- To which job does each pod or Job belong that runs without Kueue?
-- One row per pod or Job: its topmost owner, of a PodGroup before others; else itself.
with tops as (
  select
    uid,
    max_by(ancestor_uid, by_group::integer * 100 + depth) as top_uid
  from ancestors
  group by uid
),

owned as (
  select distinct unnest(owner_uids) as owner_uid
  from kubernetes_workloads
  where fault is null
),

members as (
  select uid
  from latest_pods
  anti join workload_pods using (uid)
  union all
  select uid
  from latest_jobs
  where
    uid not in (from owned)
    and uid not in (
      select uid
      from ancestors
      where ancestor_uid in (from owned)
    )
)

select
  members.uid,
  coalesce(tops.top_uid, members.uid) as life
from members
left join tops using (uid)
