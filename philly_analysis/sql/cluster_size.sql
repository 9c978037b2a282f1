-- How large is the cluster?
-- One row.
--   machines  machines
--   servers   of these, machines with GPUs
--   gpus      their GPUs
select
  count(*) as machines,
  count(*) filter (where gpus > 0) as servers,
  coalesce(sum(gpus), 0)::bigint as gpus
from machines
