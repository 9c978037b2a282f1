-- Servers that a table lists.
-- One row per row of the table.
select
  machine_id,
  gpus,
  gpus as gpus_listed,
  cpus,
  mem_gb,
  gpu_model,
  gpu_mem_gb,
  rack,
  cluster,
  pool,
  source_file,
  source_line,
  raw,
  reject
from machines_fields
