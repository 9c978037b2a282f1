-- Which ClusterQueues lend quota to one another?
-- One row per ClusterQueue of a cohort. Cohorts with a common ancestor are one cohort.
with recursive parents as (
  select
    name,
    max_by(cohort, last_s) as parent
  from kubernetes_cohorts
  where fault is null
  group by name
),

-- a circle of parents ends at a hundred
ancestors (name, ancestor, depth) as (
  select
    name,
    parent as ancestor,
    0 as depth
  from parents
  where parent is not null
  union all
  select
    a.name,
    p.parent as ancestor,
    a.depth + 1 as depth
  from ancestors as a
  inner join parents as p
    on a.ancestor = p.name
  where p.parent is not null and a.depth < 100
),

roots as (
  select
    name,
    max_by(ancestor, depth) as root
  from ancestors
  group by name
)

select
  q.name as vc,
  coalesce(roots.root, q.cohort) as cohort,
  q.borrowing_limit,
  q.lending_limit,
  q.source_file,
  q.source_line,
  q.raw,
  null::varchar as reject
from latest_queues as q
left join roots
  on q.cohort = roots.name
where q.fault is null and q.cohort is not null
union all
select
  null::varchar as vc,
  null::varchar as cohort,
  null::integer as borrowing_limit,
  null::integer as lending_limit,
  source_file,
  source_line,
  raw,
  fault as reject
from kubernetes_cohorts
where fault is not null
