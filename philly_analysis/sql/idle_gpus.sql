-- How much of the cluster idles, and how much of that on servers that are in part in use?
-- One row, over the time from the first start, or from when the log is complete, to the last end;
-- none where no GPU was held in it.
--   capacity_gpu_h  GPU hours that there were
--   held_gpu_h      of these, held by jobs
--   idle_gpu_h      the others
--   partly_gpu_h    idle on servers of which other GPUs were held: fragments
with span as (
  select
    greatest(min(u.moment // 2), any_value(epoch_us(snapshot.complete_from))) as from_us,
    max(u.moment // 2) as until_us
  from machine_use as u
  cross join snapshot
),

-- a change counts for all the time after it, and one before the log is complete for all of that;
-- whole microseconds, so that their sum does not hang on the order
changes as (
  select
    u.free_before - u.free_after as used,
    case when u.free_after < u.gpus then u.free_after else 0 end
    - case when u.free_before < u.gpus then u.free_before else 0 end as stranded,
    span.until_us - greatest(u.moment // 2, span.from_us) as left_us
  from machine_use as u
  cross join span
)

select
  any_value(cluster_size.gpus * (span.until_us - span.from_us) / 3.6e9) as capacity_gpu_h,
  sum(c.used * c.left_us) / 3.6e9 as held_gpu_h,
  capacity_gpu_h - held_gpu_h as idle_gpu_h,
  sum(c.stranded * c.left_us) / 3.6e9 as partly_gpu_h
from changes as c
cross join span
cross join cluster_size
having any_value(span.from_us < span.until_us)
