-- What was the latest state of each Job?
-- One row per Job.
select *
from kubernetes_jobs
where fault is null
qualify row_number() over (
  partition by uid order by last_s desc, source_file desc, source_line desc
) = 1
