-- How many GPU samples are there in each hour?
-- One row per hour in which any began.
--   hour     hour, UTC
--   samples  machine-minutes sampled: those of the readings that began in it
select
  date_trunc('hour', sampled_at) as hour,
  sum(coalesce(seconds, 60)) / 60 as samples
from gpu_samples
group by all
