-- Which pool of machines may serve a job that names this cluster, pool and model of GPU?
-- One row per combination that jobs name; null: none named, so any will do.
--   cluster    cluster
--   named      pool, as jobs and machines name it
--   gpu_model  model of GPU
--   pool       name of the machines with GPUs that fit: one name wherever they are the same
--   servers    how many these are
with asked as (
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

served as (
  select
    a.cluster,
    a.named,
    a.gpu_model,
    a.meant,
    count(m.machine_id) as servers,
    -- tells sets of machines apart
    sum(hash(m.machine_id)) as machines
  from asked as a
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
from served
