-- What was the latest state of each owner of pods or Jobs?
-- One row per JobSet, RayJob, PodGroup or similar.
select *
from kubernetes_owners
where fault is null
qualify row_number() over (
  partition by uid order by last_s desc, source_file desc, source_line desc
) = 1
