-- Which GPUs were allocated to attempts, including GPUs that only labels show?
-- One row per GPU of an attempt, or per server where the indices are unknown.
with labelled as (
  select *
  from labelled_placements
  where outcome = 'added'
)

select
  p.job_id,
  p.attempt,
  p.machine_id,
  p.gpu,
  p.container,
  p.gpus
from placements as p
anti join labelled
  on
    p.job_id = labelled.job_id
    and p.attempt = labelled.attempt
    and p.machine_id = labelled.machine_id
    and p.gpu is null
union all
select
  job_id,
  attempt,
  machine_id,
  unnest(gpus) as gpu,
  null as container,
  null as gpus
from labelled_placements
where outcome in ('added', 'placed')
union all
select
  job_id,
  attempt,
  machine_id,
  null as gpu,
  null as container,
  rest as gpus
from labelled
where rest > 0
