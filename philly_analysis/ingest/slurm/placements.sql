-- GPUs that Slurm's attempts held, by server: sacct tells the servers and not which of their GPUs.
-- One row per attempt that started with GPUs and server.
select
  records.job_id,
  records.attempt,
  records.prefix || node_lists.node as machine_id,
  null::integer as gpu,
  allocations.gpus_per_node as gpus,
  records.source_file,
  records.source_line,
  records.node_list as raw,
  null::varchar as reject
from records
inner join allocations using (job_id, attempt)
inner join node_lists using (node_list)
where records.reject is null and records.started_at is not null and allocations.gpus > 0
