-- Machines of PAI.
-- One row per row of PAI's table of machines.
select
  machine as machine_id,
  try_cast(coalesce(cap_gpu, '0') as integer) as gpus,
  gpus as gpus_listed,
  try_cast(cap_cpu as double) as cpus,
  try_cast(cap_mem as double) as mem_gb,
  case when gpus > 0 then gpu_type end as gpu_model,
  source_file,
  source_line,
  raw,
  fault as reject
from machine_spec
