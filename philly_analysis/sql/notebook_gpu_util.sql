-- How busy are GPUs by the archive notebook's definition, its Figures 5 and 6?
-- One row per (figure, gpus, status, percentile).
--   figure      5: by status; 6: attempts on dedicated servers, 8 and 16 GPUs
--   gpus        GPUs of the job's first attempt: 1, 4, 8 or 16
--   status      how the job ended; null: however it ended
--   gpu_h       GPU-hours with a reading
--   mean_pct    mean utilisation, every GPU-minute alike
--   percentile  0 to 100
--   util_pct    utilisation that this share of GPU-minutes does not exceed, to within a point
with figures as (
  select
    5 as figure,
    gpus,
    coalesce(status, 'unknown') as status,
    bin,
    minutes,
    sum_pct
  from notebook_gpu_util_bins
  union all
  select
    6 as figure,
    gpus,
    '' as status,
    bin,
    minutes,
    sum_pct
  from notebook_gpu_util_bins
  where dedicated and gpus >= 8
),

cumulated as (
  select
    figure,
    gpus,
    status,
    bin,
    sum(minutes) as minutes,
    sum(sum(minutes)) over (partition by figure, gpus, status order by bin) as upto
  from figures
  group by figure, gpus, status, bin
),

groups as (
  select
    figure,
    gpus,
    status,
    sum(minutes) as minutes,
    sum(sum_pct) as sum_pct
  from figures
  group by figure, gpus, status
),

grid as (
  select
    *,
    unnest(range(101)) as percentile
  from groups
)

select
  grid.figure,
  grid.gpus,
  nullif(grid.status, '') as status,
  grid.minutes / 60 as gpu_h,
  grid.sum_pct / grid.minutes as mean_pct,
  grid.percentile,
  bin_quantile(c.bin, c.minutes, c.upto, grid.percentile * grid.minutes / 100) as util_pct
from grid
asof inner join cumulated as c
  on
    grid.figure = c.figure
    and grid.gpus = c.gpus
    and grid.status = c.status
    and grid.percentile * grid.minutes <= 100 * c.upto
