-- How long is the longest time that a reading of a machine's GPUs covers?
-- One row.
--   longest  longest time that a reading covers, as an interval
select to_seconds(coalesce(max(seconds), 60)) as longest
from gpu_samples
