-- materialized
-- Which objects own each pod or Job, directly or through others?
-- One row per pod or Job, and owner. A PodGroup counts as an owner of its pods.
with recursive parents as (
  select
    uid,
    owner_uid
  from latest_jobs
  where owner_uid is not null
  union all
  select
    uid,
    owner_uid
  from latest_owners
  where owner_uid is not null
),

first_owners as (
  select
    uid,
    owner_uid,
    false as by_group
  from latest_pods
  where owner_uid is not null
  union all
  select
    p.uid,
    g.uid as owner_uid,
    true as by_group
  from latest_pods as p
  inner join latest_owners as g
    on p.pod_group = g.name and g.min_member is not null
  union all
  select
    uid,
    owner_uid,
    false as by_group
  from latest_jobs
  where owner_uid is not null
),

-- a circle of owners ends at ten
chains (uid, ancestor_uid, by_group, depth) as (
  select
    uid,
    owner_uid as ancestor_uid,
    by_group,
    1 as depth
  from first_owners
  union all
  select
    c.uid,
    p.owner_uid as ancestor_uid,
    c.by_group,
    c.depth + 1 as depth
  from chains as c
  inner join parents as p
    on c.ancestor_uid = p.uid
  where c.depth < 10
)

select * from chains
