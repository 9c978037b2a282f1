-- materialized by moment
-- How many GPUs could the n emptiest machines of a pool together give, from moment to moment?
-- One row per pool, number of machines that a gang may need there (and all machines of the pool)
-- and change. Machines that never ran an attempt are not counted: if they were in service, somebody
-- who waited would have had their GPUs. GPUs of servers out of service are not counted either (see
-- server_openings).
--   pool       name of the pool, as in pools
--   machines   how many machines: n
--   moment     moment of the change in doubled microseconds since 1970, as in machine_use; the
--              first row of each n stands for all time before
--   free_gpus  GPUs free from the moment on, on the n machines with most free GPUs
with partial_pools as (
  select distinct
    pool,
    machines
  from requests
  where machines < servers
  union
  select
    pool,
    machines
  from gang_needs
  where machines < servers
),

wanted as (
  select
    row_number() over (order by pool, machines) as number,
    *
  from partial_pools
),

totals_wanted as (
  select distinct
    pool,
    servers as machines
  from gang_needs
  where machines is not null
),

-- machines that gained (1) or lost (-1) their k-th free GPU
changes as (
  select
    p.pool,
    u.moment,
    unnest(range(least(u.open_before, u.open_after) + 1, greatest(u.open_before, u.open_after) + 1))
      as k,
    sign(u.open_after - u.open_before) as change
  from server_openings as u
  inner join pool_machines as p using (machine_id)
),

totals as (
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
  semi join used_machines using (machine_id)
),

-- numbered: windows over one number are faster than over a name and a number
all_empty as (
  select
    row_number() over (order by pool, k) as level,
    *
  from (
    select
      pool,
      k,
      count(*) as machines
    from slots
    group by all
  ) as counts
),

-- machines with k free GPUs and more
having_free as (
  select
    totals.pool,
    totals.moment,
    totals.k,
    totals.change,
    all_empty.machines
    + sum(totals.change) over (partition by all_empty.level order by totals.moment)
      as machines
  from totals
  inner join all_empty using (pool, k)
),

-- the n largest of the free counts add up to the sum over k of min(n, machines with k and more)
gains as (
  select
    wanted.number,
    h.moment,
    sum(
      least(wanted.machines, h.machines) - least(wanted.machines, h.machines - h.change)
    ) as gain
  from having_free as h
  inner join wanted
    on
      h.pool = wanted.pool
      and least(h.machines, h.machines - h.change) < wanted.machines
  group by all
  having gain <> 0
  union all by name
  select
    wanted.number,
    0 as moment,
    sum(least(wanted.machines, all_empty.machines)) as gain
  from all_empty
  inner join wanted using (pool)
  group by all
),

-- all GPUs that are free, although on which servers may not be known
pool_changes as (
  select
    p.pool,
    2 * epoch_us(unnest([h.allocated_at, h.until_at])) + unnest([1, 0]) as moment,
    unnest([-h.gpus, h.gpus]) as change
  from machine_holdings as h
  inner join pool_machines as p using (machine_id)
  where h.gpus is not null
  union all
  select
    p.pool,
    o.moment,
    o.closed_before - o.closed_after as change
  from server_openings as o
  inner join pool_machines as p using (machine_id)
  where o.closed_before <> o.closed_after
  union all
  select
    pool,
    0 as moment,
    gpus as change
  from pool_machines
  semi join used_machines using (machine_id)
),

pool_levels as (
  select
    pool,
    moment,
    greatest(round(sum(sum(change)) over (partition by pool order by moment)), 0)::bigint
      as free_gpus
  from pool_changes
  group by pool, moment
)

select
  wanted.pool,
  wanted.machines,
  gains.moment,
  sum(gains.gain) over (partition by wanted.number order by gains.moment)::bigint as free_gpus
from gains
inner join wanted using (number)
union all
select
  t.pool,
  t.machines,
  l.moment,
  l.free_gpus
from totals_wanted as t
inner join pool_levels as l using (pool)
qualify
  l.free_gpus is distinct from
    lag(l.free_gpus) over (partition by l.pool order by l.moment)
