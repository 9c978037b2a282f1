-- How busy was each allocated GPU, and how complete are its readings?
-- One row per placement of an attempt whose start and end are known.
--   job_id        identifier of the job
--   attempt       number of the attempt within its job, from 1
--   machine_id    identifier of the server
--   gpu           index of the GPU in its server, from 0
--   attribution   gpu_exact: the readings are this attempt's; gpu_shared: another attempt had the
--                 GPU at the same time, so the readings are ambiguous
--   expected_min  minutes from start to end of the attempt, which should have readings
--   minutes       minutes that have a reading
--   offline_min   minutes without a reading although the machine reported
--   idle_min      minutes with a reading of exactly 0 %
--   sum_pct       sum of the utilisation readings, in % times minutes
--   mean_pct      mean utilisation of the GPU in %; null: no reading
--   coverage      minutes divided by expected_min, 0 to 1; null: no minute is expected
with readings_by_placement as (
  select
    placement,
    total(case when bin is not null then minutes end) as minutes,
    total(case when bin is null then minutes end) as offline_min,
    total(case when bin = 0 then minutes end) as idle_min,
    total(sum_pct) as sum_pct
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
  coalesce(readings_by_placement.minutes, 0) as minutes,
  coalesce(readings_by_placement.offline_min, 0) as offline_min,
  coalesce(readings_by_placement.idle_min, 0) as idle_min,
  coalesce(readings_by_placement.sum_pct, 0) as sum_pct,
  readings_by_placement.sum_pct / readings_by_placement.minutes as mean_pct,
  coalesce(readings_by_placement.minutes, 0) / nullif(p.expected_min, 0) as coverage
from placed_gpus as p
left join readings_by_placement using (placement)
