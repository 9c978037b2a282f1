-- Which GPUs were allocated to the attempts of an accounting log?
-- One row per attempt that started with GPUs, and server; per GPU where its index is recorded.
select
  job_id,
  attempt,
  node as machine_id,
  gpu,
  gpus,
  source_file,
  source_line,
  node as raw,
  null::varchar as reject
from placed_gpus
