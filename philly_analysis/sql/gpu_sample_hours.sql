-- How many GPU samples are there in each hour?
-- One row per hour that has any.
--   hour     hour, UTC
--   samples  machine-minutes sampled
select
  date_trunc('hour', gpu_samples.sampled_at) as hour,
  count(*) as samples
from gpu_samples
group by all
