-- Who held which GPU, with what labels add.
-- One row per GPU of an attempt, or per server of which it is not known which.
with told as (
  select *
  from indices
  where outcome = 'told'
)

select
  p.job_id,
  p.attempt,
  p.machine_id,
  p.gpu,
  p.container,
  p.gpus
from placements as p
anti join told
  on
    p.job_id = told.job_id
    and p.attempt = told.attempt
    and p.machine_id = told.machine_id
    and p.gpu is null
union all
select
  job_id,
  attempt,
  machine_id,
  unnest(gpus) as gpu,
  null as container,
  null as gpus
from indices
where outcome in ('told', 'placed')
union all
select
  job_id,
  attempt,
  machine_id,
  null as gpu,
  null as container,
  rest as gpus
from told
where rest > 0
