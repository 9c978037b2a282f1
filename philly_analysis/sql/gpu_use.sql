-- How busy was each allocated GPU, and how well is that known?
-- One row per placement of an attempt whose start and end are known.
--   job_id        job
--   attempt       which attempt, from 1
--   machine_id    server
--   gpu           index of the GPU in its server, from 0
--   attribution   gpu_exact; gpu_shared: another attempt had the GPU meanwhile, so ambiguous
--   expected_min  minutes that there should be readings of
--   minutes       minutes with a reading
--   offline_min   minutes without: the machine reported and the GPU did not
--   idle_min      of the minutes, those at exactly 0 %
--   sum_pct       sum of the readings, in % times minutes
--   mean_pct      their mean; null without a reading
--   coverage      minutes with a reading over those expected, 0 to 1; null when none is expected
with used as (
  select
    placement,
    sum(minutes) filter (where bin is not null) as minutes,
    sum(minutes) filter (where bin is null) as offline_min,
    sum(minutes) filter (where bin = 0) as idle_min,
    sum(sum_pct) as sum_pct
  from gpu_use_bins
  group by placement
)

select
  p.job_id,
  p.attempt,
  p.machine_id,
  p.gpu,
  p.attribution,
  p.expected_min,
  coalesce(used.minutes, 0) as minutes,
  coalesce(used.offline_min, 0) as offline_min,
  coalesce(used.idle_min, 0) as idle_min,
  coalesce(used.sum_pct, 0) as sum_pct,
  used.sum_pct / used.minutes as mean_pct,
  coalesce(used.minutes, 0) / nullif(p.expected_min, 0) as coverage
from placed_gpus as p
left join used using (placement)
