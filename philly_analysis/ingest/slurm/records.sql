-- materialized
-- Which reading of each record of Slurm's accounting is the latest?
-- One row per reading. A record is one submission of a job number on a cluster. A reading of a
-- record's end is later than a reading of its run, which is later than a reading of its wait.
-- Fields that the latest reading lacks come from the other readings.
-- Most job numbers have one reading, which needs no comparison.
with shared_numbers as (
  select hash(cluster, id) as number
  from readings
  group by all
  having count(*) > 1
),

staged as (
  select
    *,
    case
      when state = 'PENDING' then 0
      when ended_at is null then 1
      else 2
    end as stage
  from readings
  where hash(cluster, id) in (select number from shared_numbers)
),

ranked as (
  select
    source_file,
    source_line,
    raw,
    reject,
    cluster,
    id,
    state,
    ended_by,
    submitted_at,
    started_at,
    ended_at,
    stage,
    row_number() over latest_first as reading,
    first_value(state) over latest_first as last_state,
    first_value(started_at) over latest_first as last_started_at,
    first_value(ended_at) over latest_first as last_ended_at,
    first_value(source_file) over latest_first as last_file,
    first_value(nullif(shown_id, id) ignore nulls) over latest_first as shown_id,
    first_value(columns(* exclude (
      source_file, source_line, raw, reject, cluster, id, state, ended_by, submitted_at, started_at,
      ended_at, stage, shown_id
    )) ignore nulls) over latest_first
  from staged
  window latest_first as (
    partition by cluster, id, submitted_at, reject is null
    order by
      stage desc, ended_at desc, elapsed_s desc nulls last, source_file desc, source_line desc
    rows between unbounded preceding and unbounded following
  )
),

last_readings as (
  select
    * exclude (reject),
    coalesce(reject, case
      when reading = 1 then null
      when
        stage = 2
        and source_file = last_file
        and (started_at, ended_at) is distinct from (last_started_at, last_ended_at)
        then 'as another record of this job and submission, which ended later: of which Cluster?'
      when
        (state, started_at, ended_at)
        is not distinct from (last_state, last_started_at, last_ended_at)
        then 'the same record, printed again'
      else 'an earlier reading of a record'
    end) as reject
  from ranked
),

-- a requeued job keeps its number and is resubmitted as it stops; a submission much later, earlier
-- or by another user is another job of the same number
steps as (
  select
    cluster,
    id,
    submitted_at,
    coalesce(
      "user" is distinct from lag("user") over submissions
      or submitted_at > coalesce(
        lag(ended_at) over submissions + interval 1 day,
        lag(submitted_at) over submissions + interval 30 day
      )
      -- where the cluster is known, Slurm wrote the end of a later attempt into an earlier one
      or coalesce(cluster is null and submitted_at < lag(ended_at) over submissions, false),
      true
    )::integer as begins
  from last_readings
  where reject is null
  window submissions as (partition by cluster, id order by submitted_at)
),

numbered as (
  select
    *,
    sum(begins) over (
      partition by cluster, id
      order by submitted_at
      rows unbounded preceding
    ) as life
  from steps
),

attempts as (
  select
    cluster,
    id,
    submitted_at,
    id || case
      when life > 1
        then '@' || strftime(min(submitted_at) over lives, '%Y-%m-%dT%H:%M:%S')
      else ''
    end as job_id,
    row_number() over (lives order by submitted_at) as attempt,
    lead(submitted_at) over (lives order by submitted_at) as requeued_at
  from numbered
  window lives as (partition by cluster, id, life)
),

numbered_readings as (
  select
    n.*,
    attempts.job_id as number,
    attempts.attempt,
    attempts.requeued_at
  from last_readings as n
  left join attempts
    on
      n.reject is null
      and n.cluster is not distinct from attempts.cluster
      and n.id = attempts.id
      and n.submitted_at = attempts.submitted_at
  union all by name
  select
    *,
    case when reject is null then id end as number,
    case when reject is null then 1 end as attempt,
    null::timestamp as requeued_at
  from readings
  where hash(cluster, id) not in (select number from shared_numbers)
),

several as (
  select count(distinct cluster) > 1 as clusters
  from reading_clusters
)

select
  n.source_file,
  n.source_line,
  n.raw,
  n.reject,
  n.cluster,
  case when several.clusters then coalesce(n.cluster || ':', '') else '' end as prefix,
  n.id,
  prefix || n.number as job_id,
  n.attempt,
  -- brackets list the tasks of an array that still wait
  regexp_replace(coalesce(n.shown_id, n.id), '_\[.*$', '') as scheduler_id,
  n."partition" as vc,
  n.qos,
  n.account,
  n.user,
  n.uid,
  n.state,
  n.ended_by,
  n.submitted_at,
  n.eligible_at,
  n.started_at,
  coalesce(n.ended_at > n.requeued_at, false) as end_overwritten,
  if(end_overwritten, greatest(n.requeued_at, n.started_at), n.ended_at) as ended_at,
  n.never_ran,
  n.elapsed_s,
  n.suspended_s,
  n.time_limit_s,
  n.requested,
  n.allocated,
  n.cpus,
  n.mem_gb,
  n.code,
  n.signal,
  n.node_list,
  n.wait_reason,
  n.summary
from numbered_readings as n
cross join several
