-- Memory of the Philly archive, which counts it in kB.
-- One row per line of cluster_mem_util.
select
  utc(time) as sampled_at,
  machine_id,
  (mem_total - mem_free) / 1048576 as mem_used_gb,
  mem_total / 1048576 as mem_gb,
  'cluster_mem_util' as source_file,
  source_line,
  raw,
  case when sampled_at is null then 'time is not like 2017-10-03 00:00:00 PDT' end as reject
from cluster_mem_util
