-- materialized
-- What do the servers in each of Slurm's lists of servers have in common?
-- One row per list of servers of started attempts, and prefix of the names of its cluster, with the
-- number of servers. The GPU model and the shards per GPU are null where servers differ.
with lists as (
  select distinct
    prefix,
    node_list
  from records
  where reject is null and started_at is not null
)

select
  lists.prefix,
  lists.node_list,
  count(*) as nodes,
  case when count(distinct servers.gpu_model) = 1 then any_value(servers.gpu_model) end as model,
  case
    when count(distinct servers.shards / servers.gpus_listed) = 1
      then nullif(max(servers.shards / servers.gpus_listed), 0)
  end as shards_per_gpu
from lists
inner join node_lists using (node_list)
left join servers
  on lists.prefix = servers.prefix and node_lists.node = servers.node
group by all
