-- Which machines are in each pool?
-- One row per pool and machine with GPUs; a machine may be in several pools.
--   pool        pool of machines, as named in the relation pools
--   machine_id  identifier of the server
--   gpus        GPUs of the machine
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
