-- Which GPU model do all servers of a partition have?
-- One row per partition. The model is null where servers have several models, or none is known.
with members as (
  select
    prefix,
    unnest(partitions) as part,
    gpu_model
  from servers
)

select
  prefix,
  part,
  case when count(distinct gpu_model) = 1 then any_value(gpu_model) end as model
from members
group by prefix, part
