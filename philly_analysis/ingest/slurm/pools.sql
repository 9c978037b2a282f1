-- Which partitions share servers, and thus compete for them?
-- One row per partition with servers. Partitions that share servers are one pool, which has the
-- name of the largest partition.
with recursive members as (
  select
    prefix,
    node,
    unnest(partitions) as part
  from servers
),

links as (
  select distinct
    a.prefix,
    a.part,
    b.part as other
  from members as a
  inner join members as b
    on a.prefix = b.prefix and a.node = b.node
),

reached as (
  select
    prefix,
    part,
    other
  from links
  union
  select
    reached.prefix,
    reached.part,
    links.other
  from reached
  inner join links
    on reached.prefix = links.prefix and reached.other = links.part
),

sizes as (
  select
    prefix,
    part as other,
    count(distinct node) as nodes
  from members
  group by all
)

select
  prefix,
  part,
  prefix || arg_min(other, (-nodes, other)) as pool
from reached
inner join sizes using (prefix, other)
group by prefix, part
