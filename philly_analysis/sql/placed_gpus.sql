-- materialized
-- Which GPU did each attempt have, from when to when, and did another attempt have it meanwhile?
-- One row per GPU of an attempt whose start and end are known, where it is known which it is.
--   placement     number of the row, from 1 in the order of starts and of the next four columns
--   job_id        job
--   attempt       which attempt, from 1
--   machine_id    server
--   gpu           index of the GPU in its server, from 0
--   from_at       minute in which the attempt started: readings belong to it from here
--   until_at      end of the minute in which it ended: readings belong to it up to there
--   expected_min  minutes from from_at to until_at: those that there should be readings of
--   attribution   gpu_exact: its samples are this attempt's; gpu_shared: another attempt had
--                 the same GPU meanwhile, so that they are ambiguous
with held as (
  select
    p.job_id,
    p.attempt,
    p.machine_id,
    p.gpu,
    a.started_at,
    a.ended_at
  from indexed_gpus as p
  inner join attempts as a using (job_id, attempt)
  where a.started_at is not null and a.ended_at is not null
)

select
  -- by start, so that later attempts do not number those of past weeks anew
  row_number() over (order by started_at, job_id, attempt, machine_id, gpu)::integer as placement,
  job_id,
  attempt,
  machine_id,
  gpu,
  date_trunc('minute', started_at) as from_at,
  minute_end(ended_at) as until_at,
  (seconds_between(from_at, until_at) / 60)::integer as expected_min,
  -- an attempt of no length is compared with such ones only, and overlaps with none
  case
    when
      ended_at > started_at
      and (max(ended_at) over before_it > started_at or min(started_at) over after_it < ended_at)
      then 'gpu_shared'
    else 'gpu_exact'
  end as attribution
from held
window
  before_it as (
    partition by machine_id, gpu, ended_at > started_at
    order by started_at, ended_at, job_id, attempt
    rows between unbounded preceding and 1 preceding
  ),
  after_it as (
    partition by machine_id, gpu, ended_at > started_at
    order by started_at, ended_at, job_id, attempt
    rows between 1 following and 1 following
  )
