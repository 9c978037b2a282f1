-- binned by week of gpu_samples
-- How busy was each allocated GPU during its allocation?
-- One row per (placement, week, bin).
--   placement  attempt and GPU: the number in placed_gpus
--   week       Monday of the week in which the readings began
--   bin        utilisation rounded up to whole percent: 0 is idle, k is above k - 1 and up to k;
--              null: offline, the machine reported and the GPU did not
--   minutes    minutes that the readings stand for
--   sum_pct    sum of the readings, in % times minutes; null: offline
--
-- An attempt holds whole minutes, as in the study's notebook: from the one in which it started
-- (from_at) to the one in which it ended (until_at is its end). Of each reading it has the part
-- that lies in them: all or nothing of one that stands for a minute or an even part of it, and
-- the same time in sum whatever the readings stand for.
select
  placement,
  machine_id,
  gpu + 1 as place,
  from_at,
  until_at
from placed_gpus
