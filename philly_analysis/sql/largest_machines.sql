-- How many GPUs do the n largest machines have together?
-- One row per n, from 1 to the number of machines with GPUs.
--   machines  how many machines: n
--   gpus      GPUs of the n largest
select
  row_number() over (order by gpus desc) as machines,
  sum(gpus) over (order by gpus desc rows unbounded preceding) as gpus
from machines
where gpus > 0
