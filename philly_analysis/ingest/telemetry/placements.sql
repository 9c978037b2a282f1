-- Who held which GPU, with what labels add.
-- One row per GPU of an attempt, or per server of which it is not known which.
select
  p.job_id,
  p.attempt,
  p.machine_id,
  p.gpu,
  p.container,
  p.gpus
from placements as p
anti join (select * from indices where outcome = 'told') as i
  on
    p.job_id = i.job_id
    and p.attempt = i.attempt
    and p.machine_id = i.machine_id
    and p.gpu is null
union all by name
select
  job_id,
  attempt,
  machine_id,
  unnest(gpus) as gpu
from indices
where outcome in ('told', 'placed')
union all by name
select
  job_id,
  attempt,
  machine_id,
  rest as gpus
from indices
where outcome = 'told' and rest > 0
