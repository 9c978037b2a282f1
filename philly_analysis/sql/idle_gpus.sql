-- materialized
-- How many of the cluster's GPU hours are unallocated, and how many on partly used servers?
-- One row per week from the first start (or the time from which the log is complete) to the last
-- end.
--   week            Monday of the week, UTC
--   capacity_gpu_h  GPU hours that the cluster has in the week
--   held_gpu_h      GPU hours allocated to jobs
--   idle_gpu_h      GPU hours not allocated to jobs
--   partly_gpu_h    unallocated GPU hours on servers with other GPUs allocated: fragments
with period as (
  select
    greatest(min(u.moment) // 2, any_value(epoch_us(snapshot.complete_from))) as from_us,
    max(u.moment) // 2 as until_us
  from pool_use as u
  cross join snapshot
),

-- the whole period without use, then stretches of use
stretches as (
  select
    from_us,
    until_us,
    true as whole,
    0 as used,
    0 as stranded
  from period
  union all
  select
    greatest(u.moment // 2, period.from_us) as from_us,
    lead(u.moment // 2) over (partition by u.pool order by u.moment) as until_us,
    false as whole,
    u.gpus_used,
    u.gpus_stranded
  from pool_use as u
  cross join period
),

spans as (
  select
    *,
    date_trunc('week', make_timestamp(from_us)) as first_week,
    date_trunc('week', make_timestamp(until_us - 1)) as last_week
  from stretches
  where from_us < until_us
),

-- whole microseconds, so that their sum does not hang on the order
parts as (
  select
    first_week as week,
    whole,
    used,
    stranded,
    until_us - from_us as part_us
  from spans
  where first_week = last_week
  union all
  -- few stretches are in several weeks
  select
    unnest(generate_series(first_week, last_week, interval 7 days)) as week,
    whole,
    used,
    stranded,
    least(until_us, epoch_us(week + interval 7 days)) - greatest(from_us, epoch_us(week)) as part_us
  from spans
  where first_week < last_week
)

select
  p.week::date as week,
  any_value(cluster_size.gpus) * sum(p.part_us) filter (where p.whole) / 3.6e9 as capacity_gpu_h,
  sum(p.used * p.part_us) / 3.6e9 as held_gpu_h,
  capacity_gpu_h - held_gpu_h as idle_gpu_h,
  sum(p.stranded * p.part_us) / 3.6e9 as partly_gpu_h
from parts as p
cross join cluster_size
group by all
order by all
