-- How busy are GPUs by the archive notebook's definition (Figures 5 and 6 of the study)?
-- One row per (figure, gpus, status, percentile).
--   figure      figure of the study: 5 (by status), or 6 (attempts of 8 and 16 GPUs on dedicated
--               servers)
--   gpus        GPUs of the job's first attempt: 1, 4, 8 or 16
--   status      status with which the job ended; null: all jobs
--   gpu_h       GPU hours that have a utilisation reading
--   mean_pct    mean utilisation over all GPU-minutes, %
--   percentile  percentile, 0 to 100
--   util_pct    utilisation that `percentile` % of the GPU-minutes do not exceed, to within a point
with bins as (
  select
    { 'figure': 5, 'gpus': gpus, 'status': coalesce(status, 'unknown') } as key,
    bin,
    minutes,
    sum_pct
  from notebook_gpu_util_bins
  where bin is not null
  union all
  select
    { 'figure': 6, 'gpus': gpus, 'status': null } as key,
    bin,
    minutes,
    sum_pct
  from notebook_gpu_util_bins
  where dedicated and gpus >= 8 and bin is not null
),

groups as (
  select
    key,
    total(minutes) as minutes,
    total(sum_pct) as sum_pct
  from bins
  group by key
)

select
  groups.key.figure,
  groups.key.gpus,
  groups.key.status,
  groups.minutes / 60 as gpu_h,
  groups.sum_pct / groups.minutes as mean_pct,
  curves.percentile,
  curves.util_pct
from groups
inner join bin_percentiles(bins) as curves using (key)
