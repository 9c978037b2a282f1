-- materialized
-- Which reading of each record of Slurm's accounting is the latest?
-- One row per reading. A record is one submission of a job number on a cluster. A reading of its
-- end is later than one of its run, which is later than one of its wait. Fields that the latest
-- reading lacks come from the others.
with ranked as (
  select
    *,
    case
      when state = 'PENDING' then 0
      when ended_at is null then 1
      else 2
    end as stage,
    row_number() over latest_first as reading,
    first_value(state) over latest_first as last_state,
    first_value(started_at) over latest_first as last_started_at,
    first_value(ended_at) over latest_first as last_ended_at,
    first_value(source_file) over latest_first as last_file,
    first_value("partition" ignore nulls) over latest_first as vc,
    first_value(qos ignore nulls) over latest_first as any_qos,
    first_value(account ignore nulls) over latest_first as any_account,
    first_value("user" ignore nulls) over latest_first as any_user,
    first_value(uid ignore nulls) over latest_first as any_uid,
    first_value(eligible_at ignore nulls) over latest_first as any_eligible_at,
    first_value(elapsed_s ignore nulls) over latest_first as any_elapsed_s,
    first_value(suspended_s ignore nulls) over latest_first as any_suspended_s,
    first_value(time_limit_s ignore nulls) over latest_first as any_time_limit_s,
    first_value(requested ignore nulls) over latest_first as any_requested,
    first_value(allocated ignore nulls) over latest_first as any_allocated,
    first_value(cpus ignore nulls) over latest_first as any_cpus,
    first_value(mem_gb ignore nulls) over latest_first as any_mem_gb,
    first_value(code ignore nulls) over latest_first as any_code,
    first_value(signal ignore nulls) over latest_first as any_signal,
    first_value(node_list ignore nulls) over latest_first as any_node_list,
    first_value(wait_reason ignore nulls) over latest_first as any_wait_reason,
    first_value(summary ignore nulls) over latest_first as any_summary,
    first_value(nullif(shown_id, id) ignore nulls) over latest_first as any_shown_id
  from readings
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
    *,
    coalesce(
      any_user is distinct from lag(any_user) over submissions
      or submitted_at > coalesce(
        lag(ended_at) over submissions + interval 1 day,
        lag(submitted_at) over submissions + interval 30 day
      )
      or submitted_at < lag(ended_at) over submissions,
      true
    )::integer as begins
  from last_readings
  window submissions as (partition by cluster, id, reject is null order by submitted_at)
),

numbered as (
  select
    *,
    sum(begins) over (
      partition by cluster, id, reject is null
      order by submitted_at
      rows unbounded preceding
    ) as life
  from steps
),

several as (
  select count(distinct cluster) > 1 as clusters
  from readings
  where reject is null
)

select
  n.source_file,
  n.source_line,
  n.raw,
  n.reject,
  n.cluster,
  case when several.clusters then coalesce(n.cluster || ':', '') else '' end as prefix,
  prefix || n.id
  || case
    when n.life > 1
      then '@' || strftime(min(n.submitted_at) over lives, '%Y-%m-%dT%H:%M:%S')
    else ''
  end as job_id,
  row_number() over (lives order by n.submitted_at) as attempt,
  -- brackets list the tasks of an array that still wait
  regexp_replace(coalesce(n.any_shown_id, n.id), '_\[.*$', '') as scheduler_id,
  n.vc,
  n.any_qos as qos,
  n.any_account as account,
  n.any_user as user,
  n.any_uid as uid,
  n.state,
  n.ended_by,
  n.submitted_at,
  n.any_eligible_at as eligible_at,
  n.started_at,
  n.ended_at,
  n.any_elapsed_s as elapsed_s,
  n.any_suspended_s as suspended_s,
  n.any_time_limit_s as time_limit_s,
  n.any_requested as requested,
  n.any_allocated as allocated,
  n.any_cpus as cpus,
  n.any_mem_gb as mem_gb,
  n.any_code as code,
  n.any_signal as signal,
  n.any_node_list as node_list,
  n.any_wait_reason as wait_reason,
  n.any_summary as summary
from numbered as n
cross join several
window lives as (partition by n.cluster, n.id, n.reject is null, n.life)
