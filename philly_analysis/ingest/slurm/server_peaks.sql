-- How many GPUs of a server were allocated at most?
-- One row per server: the most at once, and the most to one attempt.
with changes as (
  select
    prefix,
    node,
    started_at as moment,
    gpus
  from server_allocations
  union all
  select
    prefix,
    node,
    ended_at as moment,
    -gpus as gpus
  from server_allocations
  where ended_at is not null
),

levels as (
  select
    prefix,
    node,
    sum(sum(gpus)) over (partition by prefix, node order by moment) as gpus
  from changes
  group by prefix, node, moment
),

peaks as (
  select
    prefix,
    node,
    ceil(max(gpus) - 1e-6)::integer as gpus
  from levels
  group by prefix, node
),

single_attempts as (
  select
    prefix,
    node,
    max(known_gpus)::integer as gpus
  from server_allocations
  group by prefix, node
)

select
  peaks.prefix,
  peaks.node,
  peaks.gpus,
  single_attempts.gpus as attempt_gpus
from peaks
inner join single_attempts using (prefix, node)
