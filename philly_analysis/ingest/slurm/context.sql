-- context
-- What do the tables of a job take from the records of other jobs?
-- One row per fact. An append derives only some jobs if it keeps all facts of the trace, and if the
-- facts that it adds are about servers, files or users that no earlier record has.
select
  'cluster' as fact,
  coalesce(cluster, '') as name,
  '' as state
from cluster_names
union
select
  'cluster' as fact,
  coalesce(cluster, '') as name,
  'valid' as state
from reading_clusters
union
select
  'cluster' as fact,
  coalesce(cluster, '') as name,
  'prefix ' || prefix as state
from record_clusters
union
select
  'pool' as fact,
  prefix || part as name,
  pool as state
from pools
where pool <> prefix || part
union
select
  'model' as fact,
  prefix || part as name,
  model as state
from partition_models
where model is not null
union
select
  'minimum' as fact,
  coalesce(prefix || vc, '') as name,
  '' as state
from minimum_partitions
union
select
  'server' as fact,
  machine_id as name,
  row(cluster, gpus_listed, shards, gpu_model, cpus, mem_gb)::varchar as state
from servers
union
select
  'user' as fact,
  uid as name,
  row(cluster, min("user"))::varchar as state
from user_ids
group by cluster, uid
union
select
  'file' as fact,
  source_file as name,
  lists_servers::varchar as state
from record_files
