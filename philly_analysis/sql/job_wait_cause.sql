-- materialized by job_id
-- For which cause did each job wait longest?
-- One row per job that waited, by given quotas where they are known.
--   job_id  identifier of the job
--   cause   cause of most of the job's waiting time, as in wait_causes; of equal causes, the first
--           by name
with best_method as (
  select method
  from quota_methods
  where best
),

parts as not materialized (
  select
    c.job_id,
    c.cause,
    c.wait_s
  from wait_causes as c
  semi join best_method using (method)
  where c.wait_s > 0
),

waiting_jobs as (
  select
    job_id,
    min(cause) as first_cause,
    max(cause) as last_cause
  from parts
  group by job_id
),

-- most jobs wait for one cause: only the parts of other jobs are summed by cause
sums as (
  select
    parts.job_id,
    parts.cause,
    sum(parts.wait_s) as wait_s
  from parts
  inner join waiting_jobs as j using (job_id)
  where j.first_cause < j.last_cause
  group by all
)

select
  job_id,
  first_cause as cause
from waiting_jobs
where first_cause = last_cause
union all
select
  job_id,
  arg_min(cause, (-wait_s, cause)) as cause
from sums
group by job_id
