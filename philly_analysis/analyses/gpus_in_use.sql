-- How many GPUs are in use, day by day and by virtual cluster?
-- One row per day and virtual cluster with GPUs allocated on it.
--   day       day, UTC
--   vc        virtual cluster; (none): not known
--   mean_gpus  GPUs in use, mean of the day's 24 hours
select
  day,
  coalesce(vc, '(none)') as vc,
  gpu_h / 24 as mean_gpus
from vc_days
order by all
