-- How many GPUs do the n largest machines of a pool have together?
-- One row per pool and n, from 1 to the number of its machines.
--   pool      as in pools
--   machines  how many machines: n
--   gpus      GPUs of the n largest
select
  pool,
  row_number() over (partition by pool order by gpus desc) as machines,
  sum(gpus) over (partition by pool order by gpus desc rows unbounded preceding) as gpus
from pool_machines
