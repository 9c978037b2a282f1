-- How much of the cluster idles, and how much of that on servers that are in part in use?
-- One row, over the time from the first start to the last end.
--   capacity_gpu_h  GPU hours that there were
--   held_gpu_h      of these, held by jobs
--   idle_gpu_h      the others
--   partly_gpu_h    idle on servers of which other GPUs were held: fragments
with servers as (
  select sum(gpus) as gpus
  from machines
  where gpus > 0
),

changes as (
  select
    moment // 2 as at_us,
    sum(free_before - free_after) as held,
    sum(
      case when free_after < gpus then free_after else 0 end
      - case when free_before < gpus then free_before else 0 end
    ) as partly
  from machine_use
  group by all
),

states as (
  select
    (lead(at_us) over in_time - at_us) / 3.6e9 as lasted_h,
    sum(held) over in_time as held,
    sum(partly) over in_time as partly
  from changes
  window in_time as (order by at_us)
)

select
  servers.gpus * sum(states.lasted_h) as capacity_gpu_h,
  sum(states.held * states.lasted_h) as held_gpu_h,
  capacity_gpu_h - held_gpu_h as idle_gpu_h,
  sum(states.partly * states.lasted_h) as partly_gpu_h
from states
cross join servers
group by servers.gpus
