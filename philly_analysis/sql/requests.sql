-- materialized
-- Which different requests do jobs make?
-- One row per request. CPUs and memory count only where a server of the pool that had enough free
-- GPUs ever had too little of either.
--   request   number of the request, from 1
--   pool      name of the pool, as in pools
--   gpus      gang size
--   machines  servers that the job asks for, as in job_needs
--   servers   servers of the pool
--   cpus      CPU cores per server, as in job_needs; null: CPUs never ran short
--   mem_gb    memory per server, as in job_needs; null: memory never ran short
with needs as (
  select distinct
    pool,
    gpus,
    machines,
    cpus,
    mem_gb
  from job_needs
),

sizes as (
  select distinct
    pool,
    ceil(gpus / machines) as gpus
  from needs
),

least_free as (
  select
    p.pool,
    sizes.gpus,
    min(s.free_cpus) as cpus,
    min(s.free_mem_gb) as mem_gb
  from server_states as s
  inner join pool_machines as p using (machine_id)
  inner join sizes
    on p.pool = sizes.pool and s.free_gpus >= sizes.gpus
  group by all
),

distinct_requests as (
  select distinct
    n.pool,
    n.gpus,
    n.machines,
    case when n.cpus > l.cpus then n.cpus end as cpus,
    case when n.mem_gb > l.mem_gb then n.mem_gb end as mem_gb
  from needs as n
  left join least_free as l
    on n.pool = l.pool and ceil(n.gpus / n.machines) = l.gpus
)

select
  row_number() over (order by r.pool, r.gpus, r.machines, r.cpus, r.mem_gb) as request,
  r.pool,
  r.gpus,
  r.machines,
  g.servers,
  r.cpus,
  r.mem_gb
from distinct_requests as r
inner join gang_needs as g
  on r.pool = g.pool and r.gpus = g.gpus
