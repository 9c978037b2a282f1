-- What does each sample of GPUs say, and for how long?
-- One row per sample.
--   machine_id  server
--   from_us     moment from which it stands, microseconds since 1970
--   until_us    moment up to which it stands
--   values      utilisation of each GPU of the server, 0 to 100 %; null: offline
select
  machine_id,
  epoch_us(sampled_at) as from_us,
  reading_until(sampled_at, seconds) as until_us,
  util_pct as values
from gpu_samples
