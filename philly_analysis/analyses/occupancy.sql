-- How full is the cluster, and how many servers are then empty?
-- One row per level of use that occurred.
--   used_pct        share of the cluster's GPUs in use, rounded down to whole percent
--   hours           time spent at this level, from the first start to the last end, but not
--                   before the log is complete
--   empty_pct       share of servers with no GPU in use, mean over that time
--   empty_min_pct   smallest share in it
--   empty_max_pct   largest share in it
--   partly_pct      share of servers with some but not all GPUs in use, mean over that time
with servers as (
  select
    count(*) as machines,
    sum(gpus) as gpus
  from machines
  where gpus > 0
),

changes as (
  select
    moment // 2 as at_us,
    sum(free_before - free_after) as used,
    sum((free_after = gpus)::int - (free_before = gpus)::int) as empty,
    sum((free_after = 0)::int - (free_before = 0)::int) as full_up
  from machine_use
  group by all
),

states as (
  select
    lead(at_us) over in_time - greatest(at_us, epoch_us(snapshot.complete_from)) as held_us,
    sum(used) over in_time as used,
    sum(empty) over in_time as empty_change,
    sum(full_up) over in_time as full_up
  from changes
  cross join snapshot
  window in_time as (order by at_us)
),

levels as (
  select
    floor(100 * states.used / servers.gpus)::integer as used_pct,
    states.held_us,
    100 * (servers.machines + states.empty_change) / servers.machines as empty_pct,
    100 * states.full_up / servers.machines as full_up_pct
  from states
  cross join servers
  where states.held_us > 0 and servers.gpus > 0
)

select
  used_pct,
  sum(held_us) / 3.6e9 as hours,
  sum(empty_pct * held_us) / sum(held_us) as empty_pct,
  min(empty_pct) as empty_min_pct,
  max(empty_pct) as empty_max_pct,
  sum((100 - empty_pct - full_up_pct) * held_us) / sum(held_us) as partly_pct
from levels
group by all
order by all
