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
-- An attempt holds whole minutes, as in the study's notebook: from the minute in which the attempt
-- started (from_at) to the minute in which the attempt ended (until_at is the end of that minute).
-- A reading counts with the part of its time that lies within these minutes.
select
  placement,
  machine_id,
  gpu + 1 as place,
  from_at,
  until_at
from placed_gpus
