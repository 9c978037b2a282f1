-- What was the latest state of each ClusterQueue with a quota of GPUs, or of a faulty queue?
-- One row per ClusterQueue.
select *
from kubernetes_queues
where fault is not null or gpus is not null
qualify row_number() over (
  partition by coalesce(name, raw) order by last_s desc, source_file desc, source_line desc
) = 1
