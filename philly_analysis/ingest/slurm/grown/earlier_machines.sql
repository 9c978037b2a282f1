-- How many GPUs did the trace's servers without new allocations have before an append?
-- One row per server.
select
  machine_id,
  gpus
from stored_machines
anti join touched_servers using (machine_id)
