-- For which cause did each job wait longest?
-- One row per job that waited, by given quotas where they are known.
--   job_id  identifier of the job
--   cause   cause of most of the job's waiting time, as in wait_causes; of equal causes, the first
--           by name
with best_method as (
  select coalesce(min(method) filter (where method = 'given'), min(method)) as method
  from wait_causes
),

sums as (
  select
    job_id,
    cause,
    sum(wait_s) as wait_s
  from wait_causes
  where method = (select method from best_method)
  group by all
  having sum(wait_s) > 0
)

select
  job_id,
  cause
from sums
qualify row_number() over (partition by job_id order by wait_s desc, cause asc) = 1
