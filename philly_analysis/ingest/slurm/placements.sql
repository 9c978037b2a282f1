-- GPUs that Slurm's attempts held, by server: sacct tells the servers and not which of their GPUs.
-- One row per attempt that started with GPUs and server.
select
  job_id,
  attempt,
  prefix || node as machine_id,
  null::integer as gpu,
  gpus,
  source_file,
  source_line,
  node_list as raw,
  null::varchar as reject
from shares
