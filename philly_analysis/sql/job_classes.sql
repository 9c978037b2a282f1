-- by job_id
-- Of which class is each job?
-- One row per job that asks for GPUs of a pool with servers.
--   job_id      identifier of the job
--   wait_class  number of the class, as in wait_classes
with job_limits as (
  select
    job_id,
    list(struct_pack(name := limit_name, weight := weight) order by limit_name) as limits
  from limit_members
  group by job_id
)

select
  r.job_id,
  c.wait_class
from job_requests as r
inner join jobs using (job_id)
left join job_limits as l using (job_id)
inner join wait_classes as c
  on
    r.request = c.request
    and jobs.vc is not distinct from c.vc
    and l.limits is not distinct from c.limits
