-- stored
-- The layouts of all machines that were glimpsed, by the machine's number in glimpsed_machine.
-- One row.
--   gpus     GPUs of each machine
--   doubled  true where each GPU has two values
select
  list(coalesce(gpu_layout.gpus, 0) order by machine.name) as gpus,
  list(coalesce(gpu_layout.doubled, false) order by machine.name) as doubled
from (select unnest(enum_range(null::glimpsed_machine)) as name) as machine
left join gpu_layout on machine.name::varchar = gpu_layout.machine_id
