-- materialized
-- Which servers did each attempt hold GPUs of, from when to when, and with whom?
-- One row per attempt and server.
--   holding       number of the row, from 1 in the order of starts and of the next three columns
--   job_id        job
--   attempt       which attempt, from 1
--   machine_id    server
--   gpus          GPUs allocated there; null: unknown
--   from_at       minute in which the attempt started: readings belong to it from here; null:
--                 unknown
--   until_at      end of the minute in which it ended: readings belong to it up to there; null:
--                 unknown
--   expected_min  minutes from from_at to until_at: those that there should be readings of
--   attribution   node_exclusive: no other attempt had a GPU of the server meanwhile, so its
--                 samples are this attempt's; node_shared: another had, so they are ambiguous;
--                 null: start or end unknown
with held as (
  select
    p.job_id,
    p.attempt,
    p.machine_id,
    a.started_at,
    a.ended_at,
    held_gpus(p.gpu, p.gpus) as gpus
  from placements as p
  inner join attempts as a using (job_id, attempt)
  group by all
)

select
  row_number() over (order by started_at, job_id, attempt, machine_id)::integer as holding,
  job_id,
  attempt,
  machine_id,
  gpus,
  date_trunc('minute', started_at) as from_at,
  minute_end(ended_at) as until_at,
  (seconds_between(from_at, until_at) / 60)::integer as expected_min,
  -- an attempt of no length is compared with such ones only, and overlaps with none
  case
    when
      ended_at >= started_at
      and (max(ended_at) over before_it > started_at or min(started_at) over after_it < ended_at)
      then 'node_shared'
    when ended_at >= started_at then 'node_exclusive'
  end as attribution
from held
window
  before_it as (
    partition by machine_id, ended_at > started_at
    order by started_at, ended_at, job_id, attempt
    rows between unbounded preceding and 1 preceding
  ),
  after_it as (
    partition by machine_id, ended_at > started_at
    order by started_at, ended_at, job_id, attempt
    rows between 1 following and 1 following
  )
