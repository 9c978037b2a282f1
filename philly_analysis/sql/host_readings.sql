-- What does each sample of servers say, and for how long?
-- One row per sample.
--   machine_id  server
--   from_us     moment from which it stands, microseconds since 1970
--   until_us    moment up to which it stands
--   values      use of its CPU, and memory in use over memory in total, 0 to 100 %; null: no
--               reading
select
  machine_id,
  epoch_us(sampled_at) as from_us,
  reading_until(sampled_at, seconds) as until_us,
  -- a quotient of doubles may pass 100 by a hair; `least` would take 100 for no reading
  [
    cpu_pct,
    case when 100 * mem_used_gb / mem_gb > 100 then 100 else 100 * mem_used_gb / mem_gb end
  ] as values
from host_samples
