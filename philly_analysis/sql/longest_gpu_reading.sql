-- For how long does a reading of a machine's GPUs stand at most?
-- One row.
--   longest  the time, an interval
select to_seconds(coalesce(max(seconds), 60)) as longest
from gpu_samples
