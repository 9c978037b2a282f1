-- materialized by job_id
-- Which request does each job make?
-- One row per job that asks for GPUs of a pool with servers.
--   job_id   identifier of the job
--   request  number of the request, as in requests
with bounds as (
  select
    pool,
    gpus,
    machines,
    min(cpus) as cpus,
    min(mem_gb) as mem_gb
  from requests
  group by all
)

select
  n.job_id,
  r.request
from job_needs as n
inner join bounds as b
  on n.pool = b.pool and n.gpus = b.gpus and n.machines = b.machines
inner join requests as r
  on
    n.pool = r.pool
    and n.gpus = r.gpus
    and n.machines = r.machines
    and r.cpus is not distinct from case when n.cpus >= b.cpus then n.cpus end
    and r.mem_gb is not distinct from case when n.mem_gb >= b.mem_gb then n.mem_gb end
