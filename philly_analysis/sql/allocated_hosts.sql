-- materialized
-- Of which servers with GPUs are CPUs and memory known that jobs held?
-- One row per server.
--   machine_id  identifier of the server
--   gpus        GPUs of the server
--   cpus        CPUs of the server; null: not known
--   mem_gb      memory of the server in GB; null: not known
select
  machine_id,
  gpus,
  cpus,
  mem_gb
from machines
semi join given_host_allocations using (machine_id)
where gpus > 0
