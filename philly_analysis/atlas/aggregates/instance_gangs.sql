-- How many instances of services have one GPU?
-- One row per (application, gang), over instances on GPUs.
--   user   name of the application
--   gang   gang-size bucket
--   jobs   instances
--   gpu_h  always null: many instances run for longer than the trace
select
  app_name as "user",
  case
    when gpu_request <= 1 then '1'
    when gpu_request <= 4 then '2-4'
    when gpu_request <= 8 then '5-8'
    else '>8'
  end as gang,
  count(*) as jobs,
  null::double as gpu_h
from published
where gpu_request > 0
group by all
order by all
