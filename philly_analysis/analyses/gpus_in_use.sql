-- How many GPUs are in use, day by day and by virtual cluster?
-- One row per day and virtual cluster with allocated GPUs.
--   day        day, UTC
--   vc         virtual cluster; (none): not recorded
--   mean_gpus  mean number of GPUs in use over the day's 24 hours
select
  day,
  coalesce(vc, '(none)') as vc,
  gpu_h / 24 as mean_gpus
from vc_days
order by all
