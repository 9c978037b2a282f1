-- materialized
-- How many of the cluster's GPU hours are unallocated, and how many on partly used servers?
-- One row per week with allocated GPUs, from the first start (or the time from which the log is
-- complete) to the last end.
--   week            Monday of the week, UTC
--   capacity_gpu_h  GPU hours that the cluster has in the week
--   held_gpu_h      GPU hours allocated to jobs
--   idle_gpu_h      GPU hours not allocated to jobs
--   partly_gpu_h    unallocated GPU hours on servers with other GPUs allocated: fragments
with span as (
  select
    greatest(min(u.moment // 2), any_value(epoch_us(snapshot.complete_from))) as from_us
  from machine_use as u
  cross join snapshot
),

-- changes before the log is complete count from the time of completeness on
changes as (
  select
    greatest(u.moment // 2, span.from_us) as at_us,
    sum(u.free_before - u.free_after) as used,
    sum(
      case when u.free_after < u.gpus then u.free_after else 0 end
      - case when u.free_before < u.gpus then u.free_before else 0 end
    ) as stranded
  from machine_use as u
  cross join span
  group by all
),

stretches as (
  select
    at_us,
    lead(at_us) over moments as until_us,
    sum(used) over moments as used,
    sum(stranded) over moments as stranded
  from changes
  window moments as (order by at_us)
),

parts as (
  select
    *,
    unnest(
      generate_series(
        date_trunc('week', make_timestamp(at_us)),
        date_trunc('week', make_timestamp(until_us - 1)),
        interval 7 days
      )
    ) as week,
    -- whole microseconds, so that their sum does not hang on the order
    least(until_us, epoch_us(week + interval 7 days)) - greatest(at_us, epoch_us(week)) as part_us
  from stretches
  where until_us is not null
)

select
  p.week::date as week,
  any_value(cluster_size.gpus) * sum(p.part_us) / 3.6e9 as capacity_gpu_h,
  sum(p.used * p.part_us) / 3.6e9 as held_gpu_h,
  capacity_gpu_h - held_gpu_h as idle_gpu_h,
  sum(p.stranded * p.part_us) / 3.6e9 as partly_gpu_h
from parts as p
cross join cluster_size
group by all
order by all
