-- On how few machines could a gang run, were the whole cluster empty?
-- One row per gang size that a job asks for.
--   gpus        gang size
--   machines    fewest machines that hold it; all of them where the cluster is too small
--   too_large   true when the cluster is too small
with sizes as (
  select distinct gpus
  from jobs
  where gpus > 0
),

-- the n largest machines have so many GPUs together
largest as (
  select
    row_number() over (order by gpus desc) as machines,
    sum(gpus) over (order by gpus desc rows unbounded preceding) as held
  from machines
  where gpus > 0
)

select
  sizes.gpus,
  coalesce(min(largest.machines) filter (where largest.held >= sizes.gpus), max(largest.machines))
    as machines,
  coalesce(max(largest.held) < sizes.gpus, true) as too_large
from sizes
left join largest on true
group by sizes.gpus
