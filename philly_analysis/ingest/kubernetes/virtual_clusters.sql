-- Which quota of GPUs has each ClusterQueue?
-- One row per ClusterQueue with a nominal quota of GPUs, as the latest snapshot states it.
select
  name as vc,
  gpus,
  source_file,
  source_line,
  raw,
  fault as reject
from kubernetes_queues
where fault is not null or gpus is not null
qualify row_number() over (
  partition by coalesce(name, raw) order by last_s desc, source_file desc, source_line desc
) = 1
