-- kept
-- Which servers ran jobs of which partition, with GPUs of which model?
-- One row per server, partition and model.
select distinct
  records.prefix,
  records.cluster,
  node_lists.node,
  records.vc,
  case when len(resources.models) = 1 then resources.models[1] end as model
from records
inner join node_lists using (node_list)
left join resources
  on records.allocated = resources.tres
where records.reject is null and records.started_at is not null
