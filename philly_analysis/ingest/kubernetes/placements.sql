-- On which servers did the attempts of a Kubernetes cluster hold GPUs?
-- One row per attempt and server. Kubernetes does not record the index of a GPU.
select
  job_id,
  attempt,
  node as machine_id,
  gpus,
  source_file,
  source_line,
  node as raw,
  null::varchar as reject
from placed_gpus
