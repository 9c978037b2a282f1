-- How many host samples are there in each hour?
-- One row per hour that has any.
--   hour     hour, UTC
--   samples  machine-minutes sampled
select
  date_trunc('hour', host_samples.sampled_at) as hour,
  count(*) as samples
from host_samples
group by all
