-- What do readings tell of each series, hour by hour?
-- One row per series, hour and job.
--   series    number of the series
--   hour      hours since 1970
--   job       number of the job that holds the device, where a reading is one
--   first_us  its first moment, microseconds since 1970
--   last_us   its last
--   mem_gb    memory that the device has
select
  series,
  at_us // 3600000000 as hour,
  job,
  min(at_us) as first_us,
  max(at_us) as last_us,
  max(mem_gb) as mem_gb
from telemetry_readings
group by all
