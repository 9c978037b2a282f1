-- materialized by job_id
-- On which servers did each attempt hold GPUs, when, and with which co-tenants?
-- One row per attempt and server.
--   job_id        identifier of the job
--   attempt       number of the attempt within its job, from 1
--   machine_id    identifier of the server
--   gpus          GPUs allocated on the server; null: not known
--   from_at       start of the minute in which the attempt started, and of its readings; null: not
--                 known
--   until_at      end of the minute in which the attempt ended, and of its readings; null: not
--                 known
--   expected_min  minutes from from_at to until_at, which should have readings
--   attribution   node_exclusive: no other attempt had a GPU of the server at the same time, so the
--                 server's samples are this attempt's; node_shared: another attempt had a GPU of
--                 the server, so the samples are ambiguous; null: the start or end is not known
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
  job_id,
  attempt,
  machine_id,
  gpus,
  date_trunc('minute', started_at) as from_at,
  minute_end(ended_at) as until_at,
  (seconds_between(from_at, until_at) / 60)::integer as expected_min,
  -- an attempt of no length is compared with attempts of no length, and overlaps with none
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
