-- Which machines are in each pool?
-- One row per pool and machine with GPUs; a machine may be in several.
--   pool        as in pools
--   machine_id  server
--   gpus        GPUs it has
select distinct
  pools.pool,
  machines.machine_id,
  machines.gpus
from pools
inner join machines
  on
    machines.gpus > 0
    and fits(pools.cluster, machines.cluster)
    and fits_pool(pools.named, machines.pool)
    and fits(pools.gpu_model, machines.gpu_model)
