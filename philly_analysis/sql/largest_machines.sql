-- How many GPUs do the n largest machines of a pool have together?
-- One row per pool and n, from 1 to the pool's number of machines.
--   pool      pool of machines, as named in the relation pools
--   machines  number of machines, n
--   gpus      GPUs of the n largest machines together
select
  pool,
  row_number() over (partition by pool order by gpus desc) as machines,
  sum(gpus) over (partition by pool order by gpus desc rows unbounded preceding) as gpus
from pool_machines
