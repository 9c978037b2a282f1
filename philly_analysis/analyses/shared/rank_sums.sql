-- How do the ranks of two quantities vary together, by user?
-- One row per user. Without a user, each observation is a cluster of its own: one row per pair of
-- values.
-- Reads `pairs`, which has one row per observation: x, y and user.
with observations as (
  select
    x,
    y,
    "user"
  from pairs
  where isfinite(x) and isfinite(y)
),

-- twice the rank, less twice the mean rank: whole numbers, whose sums are exact
x_ranks as (
  select
    x,
    (2 * sum(count(*)) over (order by x) - count(*) - sum(count(*)) over ())::bigint as x_rank
  from observations
  group by x
),

y_ranks as (
  select
    y,
    (2 * sum(count(*)) over (order by y) - count(*) - sum(count(*)) over ())::bigint as y_rank
  from observations
  group by y
)

select
  count(*) as n,
  case when o.user is null then count(*) else 1 end as clusters,
  sum(x_ranks.x_rank * y_ranks.y_rank) as xy,
  sum(x_ranks.x_rank * x_ranks.x_rank) as xx,
  sum(y_ranks.y_rank * y_ranks.y_rank) as yy
from observations as o
inner join x_ranks using (x)
inner join y_ranks using (y)
group by
  o.user,
  case when o.user is null then x_ranks.x_rank end,
  case when o.user is null then y_ranks.y_rank end
order by all
