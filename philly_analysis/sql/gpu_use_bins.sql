-- binned by week of gpu_samples
-- How busy was each allocated GPU during its allocation?
-- One row per (placement, week, bin).
--   placement  number of the attempt's GPU in placed_gpus
--   week       Monday of the week in which the readings begin
--   bin        utilisation in whole percent: 0 is idle, k is above k - 1 and at most k; null:
--              offline (the machine reported, the GPU did not)
--   minutes    minutes that the readings cover
--   sum_pct    sum of the utilisation readings, in % times minutes; null: offline
--
-- Each reading counts by its overlap with the time from from_at to until_at. These two moments are
-- the start and end of the attempt. Where readings stand for whole minutes, the two moments bound
-- the minutes in which the attempt ran, as in the notebook of the study. Then a reading counts
-- completely or not at all.
select
  placement,
  machine_id,
  gpu + 1 as place,
  from_at,
  until_at
from placed_gpus
