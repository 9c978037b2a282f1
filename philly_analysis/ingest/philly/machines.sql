-- Machines of the Philly cluster.
-- One row per line of cluster_machine_list, and per machine that only other files have.
with used as (
  select machine_id, max(gpu) + 1 as gpus
  from log_gpus
  where gpu is not null
  group by machine_id
),

placed as (
  select machine_id, max(gpus) as gpus
  from (
    select machine_id, gpus from used
    union all
    select machine_id, "values" from gpu_samples_machines
    union all
    select machine_id, null from host_samples_machines
  ) as placed
  group by machine_id
)

select
  coalesce(l.machine_id, placed.machine_id) as machine_id,
  -- the list contradicts placements and samples on most machines
  coalesce(placed.gpus, l.gpus, 0)::integer as gpus,
  l.gpus as gpus_listed,
  l.gpu_mem_gb,
  case when l.source_line is null then 'cluster_gpu_util' else 'cluster_machine_list' end
    as source_file,
  l.source_line,
  l.raw,
  case
    when l.source_line is not null and l.fields <> 3 then 'not three fields'
    when l.gpus_text <> '' and l.gpus is null then 'number of GPUs is not a number'
    when l.mem_text <> '' and l.gpu_mem_gb is null then 'single GPU mem is not like 24GB'
  end as reject
from cluster_machine_list as l
full join placed on l.machine_id = placed.machine_id
