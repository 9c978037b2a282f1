-- Which machines exist, including machines and GPUs that only telemetry has?
-- One row per machine.
with shown as (
  select
    machine_id,
    (max(gpu) + 1)::integer as gpus,
    case when count(distinct model) = 1 then any_value(model) end as gpu_model,
    max(mem_gb) as gpu_mem_gb
  from devices
  group by machine_id
)

select
  coalesce(m.machine_id, shown.machine_id) as machine_id,
  greatest(coalesce(m.gpus, 0), coalesce(shown.gpus, 0)) as gpus,
  coalesce(m.gpus_listed, shown.gpus) as gpus_listed,
  m.cpus,
  m.mem_gb,
  coalesce(m.gpu_model, shown.gpu_model) as gpu_model,
  coalesce(m.gpu_mem_gb, shown.gpu_mem_gb) as gpu_mem_gb,
  m.rack,
  m.cluster,
  m.pool
from machines as m
full join shown
  on m.machine_id = shown.machine_id
