-- materialized
-- Which pool of machines serves jobs that name a cluster, a pool and a GPU model?
-- One row per combination in the jobs; null: not named, so that any value fits.
--   cluster    name of the cluster
--   named      name of the pool in jobs and machines
--   gpu_model  model of GPU
--   pool       name of the set of machines with GPUs that can serve the jobs; equal sets have one
--              name
--   servers    machines in the pool
with requests as (
  select distinct
    cluster,
    pool as named,
    gpu_model,
    coalesce(
      nullif(concat_ws(', ', 'cluster ' || cluster, 'pool ' || pool, gpu_model || ' GPUs'), ''),
      'any machine'
    ) as meant
  from jobs
),

machines_by_request as (
  select
    a.cluster,
    a.named,
    a.gpu_model,
    a.meant,
    count(m.machine_id) as servers,
    -- tells sets of machines apart
    sum(hash(m.machine_id)) as machines
  from requests as a
  left join given_machines as m
    on
      m.gpus > 0
      and fits(a.cluster, m.cluster)
      and fits_pool(a.named, m.pool)
      and fits(a.gpu_model, m.gpu_model)
  group by all
)

select
  cluster,
  named,
  gpu_model,
  case
    when servers = 0 then meant
    else arg_min(meant, (length(meant), meant)) over (partition by machines)
  end as pool,
  servers
from machines_by_request
