-- How many GPUs were in use at once, at most?
-- One row.
--   peak_gpus  most GPUs that attempts held at one moment; null: no attempt ran for a known time
--   log_s      seconds from the first submission to the end of the log
select
  max(gpu_levels.gpus) as peak_gpus,
  any_value(seconds_between(snapshot.began_at, snapshot.ended_at)) as log_s
from snapshot
left join gpu_levels
  on true
