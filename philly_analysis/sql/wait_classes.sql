-- materialized
-- Which jobs wait for the same reasons at the same time?
-- One row per class: a request, a virtual cluster, and the limits that hold.
--   wait_class  number of the class, from 1
--   request     number of the request, as in requests
--   vc          virtual cluster
--   limits      names of the limits in order, each with the amount of the limit that a job takes;
--               null: none
with job_limits as (
  select
    job_id,
    list(struct_pack(name := limit_name, weight := weight) order by limit_name) as limits
  from limit_members
  group by job_id
),

classes as (
  select distinct
    r.request,
    jobs.vc,
    l.limits
  from job_requests as r
  inner join jobs using (job_id)
  left join job_limits as l using (job_id)
)

select
  row_number() over (order by request, vc, limits) as wait_class,
  request,
  vc,
  limits
from classes
