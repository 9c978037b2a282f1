-- materialized
-- What was the latest state of the Workloads of each job, and when were they created?
-- One row per job of Kueue. A job that changes its size has several Workloads, its slices.
select
  *,
  min(created_s) over (partition by life) as submitted_s
from kubernetes_workloads
where fault is null
qualify row_number() over (
  partition by life order by last_s desc, created_s desc, source_file desc, source_line desc
) = 1
