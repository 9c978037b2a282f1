-- Jobs of a table.
-- One row per row of the table.
select
  job_id,
  vc,
  user,
  gpus,
  submitted_at,
  eligible_at,
  status,
  cpus,
  mem_gb,
  time_limit_s,
  job_type,
  cluster,
  scheduler_id,
  account,
  qos,
  pool,
  gpu_model,
  servers,
  gpu_frac,
  source_file,
  source_line,
  raw,
  reject
from records
