-- CPU utilisation of the Philly archive.
-- One row per line of cluster_cpu_util.
select
  utc(time) as sampled_at,
  machine_id,
  cpu_util as cpu_pct,
  'cluster_cpu_util' as source_file,
  source_line,
  raw,
  case when sampled_at is null then 'time is not like 2017-10-03 00:00:00 PDT' end as reject
from cluster_cpu_util
