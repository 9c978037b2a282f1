-- Where are idle GPUs?
-- One row per (day, servers).
--   day      Monday of the week
--   servers  kind of servers with the idle GPUs: partly used or empty
--   gpu_h    unallocated GPU hours
select
  week as day,
  unnest(['partly used', 'empty']) as servers,
  unnest([partly_gpu_h, idle_gpu_h - partly_gpu_h]) as gpu_h
from idle_gpus
order by all
