-- How busy are the GPUs that jobs hold, by gang size and by how the job ends?
-- One row per (gpus, status, percentile).
--   gpus        GPUs allocated to the attempt; null: all sizes
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
    { 'gpus': gpus, 'status': status } as key,
    count(*) as attempts,
    sum(minutes) as minutes,
    sum(idle_min) as idle_min,
    sum(sum_pct) as sum_pct
  from sampled_attempts
  group by cube (gpus, status)
),

bins as (
  select
    { 'gpus': gpus, 'status': status } as key,
    bin,
    sum(minutes) as minutes
  from gpu_util_bins
  group by cube (gpus, status), bin
)

select
  groups.key.gpus,
  groups.key.status,
  groups.attempts,
  groups.minutes / 60 as gpu_h,
  100 * groups.idle_min / groups.minutes as idle_pct,
  groups.sum_pct / groups.minutes as mean_pct,
  curves.percentile,
  curves.util_pct
from groups
inner join bin_percentiles(bins) as curves using (key)
order by all
