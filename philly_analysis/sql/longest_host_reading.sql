-- For how long does a reading of a machine's CPU and memory stand at most?
-- One row.
--   longest  the time, an interval
select to_seconds(coalesce(max(seconds), 60)) as longest
from host_samples
