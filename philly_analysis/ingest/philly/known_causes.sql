-- Known causes of waits, of a synthetic archive with truth.parquet.
-- One row per attempt that waited.
select
  job_id,
  attempt,
  start_up_s,
  fair_share_s,
  fragmentation_s,
  other_s,
  'truth.parquet' as source_file,
  source_line,
  cause as raw,
  null as reject
from truth
