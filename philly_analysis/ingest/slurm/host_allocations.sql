-- CPUs and memory of a server that were allocated to each attempt of a Slurm job.
-- One row per attempt that started, and server in a list of servers. CPUs and memory are spread
-- evenly over the servers of the attempt.
with granted as (
  select
    r.job_id,
    r.attempt,
    servers.machine_id,
    servers.cpus as server_cpus,
    servers.mem_gb as server_mem_gb,
    resources.cpus / count(*) over attempt_servers as cpus,
    resources.mem_gb / count(*) over attempt_servers as mem_gb,
    r.source_file,
    r.source_line,
    r.node_list
  from records as r
  inner join resources
    on r.allocated = resources.tres
  inner join node_lists using (node_list)
  inner join servers
    on r.prefix = servers.prefix and node_lists.node = servers.node
  where r.reject is null and r.started_at is not null
  window attempt_servers as (partition by r.job_id, r.attempt)
)

select
  job_id,
  attempt,
  machine_id,
  cpus,
  mem_gb,
  source_file,
  source_line,
  node_list as raw,
  null::varchar as reject
from granted
where
  (server_cpus is not null and cpus is not null)
  or (server_mem_gb is not null and mem_gb is not null)
