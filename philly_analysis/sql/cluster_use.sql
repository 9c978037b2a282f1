-- How many GPUs and servers of the cluster were in use, from moment to moment?
-- One row per stretch of time over which nothing changed.
--   from_us        its start: microseconds since 1970
--   until_us       its end; null: the last
--   gpus_used      GPUs in use
--   gpus_stranded  GPUs free on servers of which other GPUs were in use
--   servers_empty  servers with no GPU in use
--   servers_full   servers with every GPU in use
with changes as (
  select
    moment // 2 as from_us,
    sum(free_before - free_after) as gpus_used,
    sum(
      case when free_after < gpus then free_after else 0 end
      - case when free_before < gpus then free_before else 0 end
    ) as gpus_stranded,
    sum((free_after = gpus)::int - (free_before = gpus)::int) as servers_empty,
    sum((free_after = 0)::int - (free_before = 0)::int) as servers_full
  from machine_use
  group by all
)

select
  c.from_us,
  lead(c.from_us) over in_time as until_us,
  sum(c.gpus_used) over in_time as gpus_used,
  sum(c.gpus_stranded) over in_time as gpus_stranded,
  cluster_size.servers + sum(c.servers_empty) over in_time as servers_empty,
  sum(c.servers_full) over in_time as servers_full
from changes as c
cross join cluster_size
window in_time as (order by c.from_us)
