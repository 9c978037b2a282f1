-- How large is the cluster?
-- One row.
--   machines  machines
--   servers   machines with GPUs
--   gpus      GPUs of all machines
select
  count(*) as machines,
  count(*) filter (where gpus > 0) as servers,
  coalesce(sum(gpus), 0)::bigint as gpus
from machines
