-- How much of the cluster idles, and how much of that on servers that are in part in use?
-- One row, over the time from the first start to the last end; none where no GPU was held.
--   capacity_gpu_h  GPU hours that there were
--   held_gpu_h      of these, held by jobs
--   idle_gpu_h      the others
--   partly_gpu_h    idle on servers of which other GPUs were held: fragments
with stretches as (
  select
    gpus_used,
    gpus_stranded,
    (until_us - from_us) / 3.6e9 as lasted_h
  from cluster_use
)

select
  cluster_size.gpus * sum(s.lasted_h) as capacity_gpu_h,
  sum(s.gpus_used * s.lasted_h) as held_gpu_h,
  capacity_gpu_h - held_gpu_h as idle_gpu_h,
  sum(s.gpus_stranded * s.lasted_h) as partly_gpu_h
from stretches as s
cross join cluster_size
group by cluster_size.gpus
