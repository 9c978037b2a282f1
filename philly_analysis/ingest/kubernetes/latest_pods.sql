-- materialized
-- What was the latest state of each pod?
-- One row per pod.
select *
from kubernetes_pods
where fault is null
qualify row_number() over (
  partition by uid order by last_s desc, source_file desc, source_line desc
) = 1
