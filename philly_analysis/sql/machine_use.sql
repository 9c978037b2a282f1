-- materialized
-- How many GPUs of each machine were in use, from moment to moment?
-- One row per machine and moment at which the number changed.
--   machine_id   server
--   moment       microseconds since 1970, doubled; plus one once the starts of that microsecond
--                are counted (releases come before starts)
--   gpus         GPUs it has
--   free_before  GPUs free before; 0 where more are allocated than it has
--   free_after   GPUs free from then on
with changes as (
  select
    machine_id,
    2 * epoch_us(unnest([started_at, until_at])) + unnest([1, 0]) as moment,
    unnest([gpus, -gpus]) as change
  from machine_holdings
  where gpus is not null
),

moments as (
  select
    machine_id,
    moment,
    sum(change) as change
  from changes
  group by all
),

counts as (
  select
    *,
    sum(change) over (partition by machine_id order by moment) as in_use
  from moments
)

select
  counts.machine_id,
  counts.moment,
  machines.gpus,
  greatest(machines.gpus - (counts.in_use - counts.change), 0)::integer as free_before,
  greatest(machines.gpus - counts.in_use, 0)::integer as free_after
from counts
inner join machines using (machine_id)
