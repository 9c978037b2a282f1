-- When was each series read, for which job, and with how much memory?
-- One row per series, hour and job.
--   series    number of the series
--   hour      hours since 1970
--   job       number of the job on the device, from readings of the job label
--   first_us  time of the first reading, microseconds since 1970
--   last_us   time of the last reading, microseconds since 1970
--   mem_gb    memory of the device
select
  series,
  at_us // 3600000000 as hour,
  job,
  min(at_us) as first_us,
  max(at_us) as last_us,
  max(mem_gb) as mem_gb
from telemetry_readings
group by all
