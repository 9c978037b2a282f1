-- Which GPUs do labels say that each attempt held?
-- One row per attempt and device.
--   job_id      job
--   attempt     which attempt, from 1
--   machine_id  server
--   gpu         place in its lists
--   placed      true where the job log has the attempt on that server, false where on others only;
--               null: it does not place it
with labels as (
  select
    series,
    cluster,
    unnest(jobs) as name,
    generate_subscripts(jobs, 1) as place
  from series
),

said as (
  select
    l.series,
    l.cluster,
    l.name,
    l.place,
    facts.first_us,
    facts.last_us
  from labels as l
  inner join facts
    on l.series = facts.series
  union all
  select
    facts.series,
    series.cluster,
    facts.job::bigint::varchar as name,
    0 as place,
    facts.first_us,
    facts.last_us
  from facts
  inner join series
    on facts.series = series.series
  where facts.job > 0
),

known as (
  -- of several labels, the first that names a job
  select
    said.*,
    names.job_id
  from said
  inner join job_names as names
    on said.name = names.name and coalesce(said.cluster = names.cluster, true)
  qualify said.place = min(said.place) over (partition by said.series)
),

held as (
  select distinct
    known.name,
    a.job_id,
    a.attempt,
    p.machine_id,
    p.gpu
  from known
  inner join places as p
    on known.series = p.series
  inner join attempts as a
    on
      known.job_id = a.job_id
      and make_timestamp(known.last_us) >= a.started_at
      and make_timestamp(known.first_us) <= coalesce(a.ended_at, timestamp '2100-01-01')
  where p.gpu is not null
),

servers as (
  select distinct
    job_id,
    attempt,
    machine_id
  from placements
),

placed as (
  select distinct
    job_id,
    attempt
  from servers
),

judged as (
  select
    held.*,
    case
      when servers.machine_id is not null then true
      when placed.job_id is not null then false
    end as placed
  from held
  left join servers using (job_id, attempt, machine_id)
  left join placed using (job_id, attempt)
)

select distinct
  job_id,
  attempt,
  machine_id,
  gpu,
  placed
from judged
-- a number that several clusters gave is of the one whose job was there
qualify coalesce(placed, false)
  or not bool_or(coalesce(placed, false)) over (partition by machine_id, gpu, name)
