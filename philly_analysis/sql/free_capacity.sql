-- materialized
-- How many free GPUs do the n emptiest machines of a pool have together, over time?
-- One row per pool, number of machines that a gang may need (and all machines), and change.
-- Machines without any attempt are excluded: they may have been out of service.
--   pool       pool of machines, as named in the relation pools
--   machines   number of machines, n
--   moment     moment of the change, as in machine_use; the first row of each n holds for all
--              earlier time
--   free_gpus  GPUs free after the moment, on the n machines with the most free GPUs
with machine_numbers as (
  select distinct
    pool,
    unnest([machines, servers]) as machines
  from gang_needs
),

-- machines that gained (1) or lost (-1) their k-th free GPU
changes as (
  select
    p.pool,
    u.moment,
    unnest(range(least(u.free_before, u.free_after) + 1, greatest(u.free_before, u.free_after) + 1))
      as k,
    sign(u.free_after - u.free_before) as change
  from machine_use as u
  inner join pool_machines as p using (machine_id)
),

changes_by_moment as (
  select
    pool,
    moment,
    k,
    sum(change) as change
  from changes
  group by all
),

-- machines with k GPUs and more, before anything ran
slots as (
  select
    pool,
    unnest(range(1, gpus + 1)) as k
  from pool_machines
  semi join placements using (machine_id)
),

machines_by_slot as (
  select
    pool,
    k,
    count(*) as machines
  from slots
  group by all
),

-- machines with k free GPUs and more
machines_with_free_gpus as (
  select
    c.pool,
    c.moment,
    c.k,
    c.change,
    machines_by_slot.machines
    + sum(c.change) over (partition by c.pool, c.k order by c.moment) as machines
  from changes_by_moment as c
  inner join machines_by_slot using (pool, k)
),

-- the n largest of the free counts add up to the sum over k of min(n, machines with k and more)
gains as (
  select
    n.pool,
    n.machines,
    m.moment,
    sum(least(n.machines, m.machines) - least(n.machines, m.machines - m.change)) as gain
  from machines_with_free_gpus as m
  inner join machine_numbers as n using (pool)
  group by all
  having gain <> 0
  union all by name
  select
    machine_numbers.pool,
    machine_numbers.machines,
    0 as moment,
    sum(least(machine_numbers.machines, machines_by_slot.machines)) as gain
  from machines_by_slot
  inner join machine_numbers using (pool)
  group by all
)

select
  pool,
  machines,
  moment,
  sum(gain) over (partition by pool, machines order by moment)::bigint as free_gpus
from gains
