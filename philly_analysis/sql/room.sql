-- stored
-- How many GPUs could the n emptiest machines together give, from moment to moment?
-- One row per number of machines that a gang may need (and for all of them) and change.
--   machines  how many machines: n
--   moment    as in machine_use; the first row of each n stands for all time before
--   room      GPUs free from then on, on the n machines with most free
with wanted as (
  select machines
  from gang_needs
  where machines is not null
  union
  select servers as machines
  from cluster_size
  where servers > 0
),

-- machines that gained (1) or lost (-1) their k-th free GPU
changes as (
  select
    moment,
    unnest(range(least(free_before, free_after) + 1, greatest(free_before, free_after) + 1)) as k,
    sign(free_after - free_before) as change
  from machine_use
),

totals as (
  select
    moment,
    k,
    sum(change) as change
  from changes
  group by all
),

-- machines with k GPUs and more, before anything ran
slots as (
  select unnest(range(1, gpus + 1)) as k
  from machines
),

all_empty as (
  select
    k,
    count(*) as machines
  from slots
  group by all
),

-- machines with k free GPUs and more
having_free as (
  select
    totals.moment,
    totals.k,
    totals.change,
    all_empty.machines
    + sum(totals.change) over (partition by totals.k order by totals.moment) as machines
  from totals
  inner join all_empty
    on totals.k = all_empty.k
),

-- the n largest of the free counts add up to the sum over k of min(n, machines with k and more)
gains as (
  select
    wanted.machines,
    h.moment,
    sum(
      least(wanted.machines, h.machines) - least(wanted.machines, h.machines - h.change)
    ) as gain
  from having_free as h
  cross join wanted
  group by all
  having gain <> 0
  union all by name
  select
    wanted.machines,
    0 as moment,
    sum(least(wanted.machines, all_empty.machines)) as gain
  from all_empty
  cross join wanted
  group by all
)

select
  machines,
  moment,
  sum(gain) over (partition by machines order by moment)::bigint as room
from gains
