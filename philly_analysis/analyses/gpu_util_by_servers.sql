-- How busy are a gang's GPUs, by the number of servers that it is spread over?
-- One row per (gpus, servers, percentile); gangs of two GPUs and more.
--   gpus        GPUs held by the attempt
--   servers     distinct servers that they are on
--   attempts    attempts with a reading
--   users       users among them
--   gpu_h       GPU-hours with a reading
--   mean_pct    mean utilisation, every GPU-minute alike
--   percentile  0 to 100
--   util_pct    utilisation that this share of GPU-minutes does not exceed, to within a point
with groups as (
  select
    gpus,
    servers,
    count(*) as attempts,
    count(distinct "user") as users,
    sum(minutes) as minutes,
    sum(sum_pct) as sum_pct
  from attempt_use
  where minutes > 0 and gpus > 1
  group by gpus, servers
),

cumulated as (
  select
    gpus,
    servers,
    bin,
    sum(minutes) as minutes,
    sum(sum(minutes)) over (partition by gpus, servers order by bin) as upto
  from gpu_util_bins
  group by gpus, servers, bin
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
  grid.users,
  grid.minutes / 60 as gpu_h,
  grid.sum_pct / grid.minutes as mean_pct,
  grid.percentile,
  bin_quantile(c.bin, c.minutes, c.upto, grid.percentile * grid.minutes / 100) as util_pct
from grid
asof inner join cumulated as c
  on
    grid.gpus = c.gpus
    and grid.servers = c.servers
    and grid.percentile * grid.minutes <= 100 * c.upto
order by all
