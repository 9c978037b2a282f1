-- How busy are the GPUs that jobs hold, by gang size and by how the job ends?
-- One row per (gpus, status, percentile).
--   gpus        GPUs held by the attempt; null: all sizes
--   status      how the job ended; null: however it ended
--   attempts    attempts with a reading
--   gpu_h       GPU-hours with a reading
--   idle_pct    share of them at exactly 0 %
--   mean_pct    mean utilisation, every GPU-minute alike
--   percentile  0 to 100
--   util_pct    utilisation that this share of GPU-minutes does not exceed, to within a point:
--               read off a histogram of whole percents
with groups as (
  select
    coalesce(gpus, 0) as gpus,
    coalesce(status, '') as status,
    count(*) as attempts,
    sum(minutes) as minutes,
    sum(idle_min) as idle_min,
    sum(sum_pct) as sum_pct
  from attempt_use
  where minutes > 0
  group by cube (gpus, status)
),

bins as (
  select
    coalesce(gpus, 0) as gpus,
    coalesce(status, '') as status,
    bin,
    sum(minutes) as minutes
  from gpu_util_bins
  group by grouping sets ((gpus, status, bin), (gpus, bin), (status, bin), (bin))
),

cumulated as (
  select
    *,
    sum(minutes) over (partition by gpus, status order by bin) as upto
  from bins
),

grid as (
  select
    *,
    unnest(range(101)) as percentile
  from groups
)

select
  nullif(grid.gpus, 0) as gpus,
  nullif(grid.status, '') as status,
  grid.attempts,
  grid.minutes / 60 as gpu_h,
  100 * grid.idle_min / grid.minutes as idle_pct,
  grid.sum_pct / grid.minutes as mean_pct,
  grid.percentile,
  bin_quantile(c.bin, c.minutes, c.upto, grid.percentile * grid.minutes / 100) as util_pct
from grid
asof inner join cumulated as c
  on
    grid.gpus = c.gpus
    and grid.status = c.status
    and grid.percentile * grid.minutes <= 100 * c.upto
order by all
