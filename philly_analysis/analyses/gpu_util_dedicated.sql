-- How busy are the GPUs of gangs that have their servers to themselves?
-- One row per (gpus, percentile); gangs of two GPUs and more that held every GPU of each of
-- their servers, on no more servers than they need.
--   gpus        GPUs held by the attempt
--   servers     distinct servers that they are on
--   attempts    attempts with a reading
--   gpu_h       GPU-hours with a reading
--   idle_pct    share of them at exactly 0 %
--   mean_pct    mean utilisation, every GPU-minute alike
--   percentile  0 to 100
--   util_pct    utilisation that this share of GPU-minutes does not exceed, to within a point
with groups as (
  select
    gpus,
    servers,
    count(*) as attempts,
    sum(minutes) as minutes,
    sum(idle_min) as idle_min,
    sum(sum_pct) as sum_pct
  from attempt_use
  where minutes > 0 and gpus > 1 and whole and not spread
  group by gpus, servers
),

cumulated as (
  select
    gpus,
    bin,
    sum(minutes) as minutes,
    sum(sum(minutes)) over (partition by gpus order by bin) as upto
  from gpu_util_bins
  where dedicated
  group by gpus, bin
),

grid as (
  select
    *,
    unnest(range(101)) as percentile
  from groups
)

select
  grid.gpus,
  grid.servers,
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
    and grid.percentile * grid.minutes <= 100 * c.upto
order by all
