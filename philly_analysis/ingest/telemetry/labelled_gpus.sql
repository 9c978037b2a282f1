-- Which GPUs were allocated to each attempt, by the labels?
-- One row per attempt and device.
--   job_id      job
--   attempt     which attempt, from 1
--   machine_id  server
--   gpu         index of the GPU in the lists of the server
--   placed      true if the job log has the attempt on the server, false if on other servers only;
--               null: the log has no placement of the attempt
with labels as (
  select
    series,
    cluster,
    unnest(jobs) as name,
    generate_subscripts(jobs, 1) as rank
  from series
),

-- pods of one name in several namespaces are known by namespace/name only
ambiguous as (
  select regexp_extract(name, '[^/]*$') as pod
  from labels
  where contains(name, '/')
  group by all
  having count(distinct name) > 1
),

candidates as (
  select
    l.series,
    l.cluster,
    l.name,
    l.rank,
    facts.first_us,
    facts.last_us
  from labels as l
  inner join facts
    on l.series = facts.series
  anti join ambiguous
    on l.name = ambiguous.pod
  union all
  select
    facts.series,
    series.cluster,
    facts.job::bigint::varchar as name,
    0 as rank,
    facts.first_us,
    facts.last_us
  from facts
  inner join series
    on facts.series = series.series
  where facts.job > 0
),

labelled as (
  -- of several labels, the first that names a job
  select
    candidates.*,
    names.job_id
  from candidates
  inner join job_names as names
    on candidates.name = names.name and coalesce(candidates.cluster = names.cluster, true)
  qualify candidates.rank = min(candidates.rank) over (partition by candidates.series)
),

matched as (
  select distinct
    labelled.name,
    a.job_id,
    a.attempt,
    p.machine_id,
    p.gpu
  from labelled
  inner join series_devices as p
    on labelled.series = p.series
  inner join attempts as a
    on
      labelled.job_id = a.job_id
      and make_timestamp(labelled.last_us) >= a.started_at
      and make_timestamp(labelled.first_us) <= coalesce(a.ended_at, timestamp '2100-01-01')
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

compared as (
  select
    matched.*,
    case
      when servers.machine_id is not null then true
      when placed.job_id is not null then false
    end as placed
  from matched
  left join servers using (job_id, attempt, machine_id)
  left join placed using (job_id, attempt)
)

select distinct
  job_id,
  attempt,
  machine_id,
  gpu,
  placed
from compared
-- a job number of several clusters belongs to the cluster whose job was on the server
qualify coalesce(placed, false)
  or not bool_or(coalesce(placed, false)) over (partition by machine_id, gpu, name)
