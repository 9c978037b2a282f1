-- How many GPU samples are there in each hour?
-- One row per hour in which a reading began.
--   hour     start of the hour, UTC
--   samples  sampled machine-minutes of the readings that begin in the hour
select
  date_trunc('hour', sampled_at) as hour,
  sum(coalesce(seconds, 60)) / 60 as samples
from gpu_samples
group by all
