-- On how few machines could a gang run, were the whole cluster empty?
-- One row per gang size that a job asks for.
--   gpus        gang size
--   machines    fewest machines that hold it; all of them where the cluster is too small
--   too_large   true when the cluster is too small
with sizes as (
  select distinct gpus
  from jobs
  where gpus > 0
)

select
  sizes.gpus,
  coalesce(min(large.machines) filter (where large.gpus >= sizes.gpus), max(large.machines))
    as machines,
  coalesce(max(large.gpus) < sizes.gpus, true) as too_large
from sizes
left join largest_machines as large on true
group by sizes.gpus
