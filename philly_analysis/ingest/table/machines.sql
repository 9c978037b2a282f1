-- Servers that a table lists.
-- One row per row of it.
with meant as (
  select
    *,
    meaning(machine_id_said, machine_rules().machine_id) as machine_id,
    quantity(gpus_said, gpus_times, machine_rules().gpus) as gpus,
    quantity(cpus_said, cpus_times, machine_rules().cpus) as cpus,
    quantity(mem_gb_said, mem_gb_times, machine_rules().mem_gb) as mem_gb,
    quantity(gpu_mem_gb_said, null, machine_rules().gpu_mem_gb) as gpu_mem_gb,
    meaning(gpu_model_said, machine_rules().gpu_model) as gpu_model,
    meaning(rack_said, machine_rules().rack) as rack,
    meaning(cluster_said, machine_rules().cluster) as cluster,
    meaning(pool_said, machine_rules().pool) as pool
  from machines_rows
)

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
  coalesce(
    fault,
    unknown_word('machine_id', machine_id_said, machine_rules().machine_id),
    unknown_word('gpu_model', gpu_model_said, machine_rules().gpu_model),
    unknown_word('rack', rack_said, machine_rules().rack),
    unknown_word('cluster', cluster_said, machine_rules().cluster),
    unknown_word('pool', pool_said, machine_rules().pool),
    unread('gpus', gpus_said, gpus, 'number'),
    unread('cpus', cpus_said, cpus, 'number'),
    unread('mem_gb', mem_gb_said, mem_gb, 'number'),
    unread('gpu_mem_gb', gpu_mem_gb_said, gpu_mem_gb, 'number'),
    if(gpus <> round(gpus), 'gpus is not a whole number', null)
  ) as reject
from meant
