-- How many instances of services have no GPU?
-- One row per (application, kind).
--   user  name of the application
--   kind  GPUs of the job: none, part (less than one GPU), or whole
--   jobs  instances
select
  app_name as "user",
  case when gpu_request = 0 then 'none' when gpu_request < 1 then 'part' else 'whole' end as kind,
  count(*) as jobs
from published
group by all
order by all
