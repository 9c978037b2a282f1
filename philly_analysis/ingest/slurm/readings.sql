-- materialized
-- Readings of Slurm's records with their fields parsed: sacct may print a record several times.
-- One row per record of a file, and per file that has no records. Records are read again for what
-- other records lack (`not materialized`), since memory would not hold them all.
with listed as not materialized (
  select *
  from sacct
  union all by name
  select *
  from unlisted_jobs
),

typed as not materialized (
  select
    *,
    coalesce(jobid, jobidraw) as shown_id,
    -- an array whose tasks are not yet split has the number that its last task will have
    coalesce(
      regexp_extract(jobidraw, '^[0-9]+$'), regexp_extract(jobid, '^([0-9]+)(?:_\[.*)?$', 1)
    ) as bare_id,
    -- CANCELLED by 1001, and a + where the column was too narrow
    upper(regexp_extract(state, '^[A-Za-z_]+')) as word,
    slurm_time(submit) as submitted_at,
    slurm_time(eligible) as known_eligible_at,
    slurm_time("end") as known_end_at,
    slurm_time(start) as known_start_at,
    coalesce(slurm_span_s(elapsedraw), slurm_span_s(elapsed)) as elapsed_s,
    -- a job that ended before it ran has no server and no resources, and its end as its start
    nodelist is null
    and alloctres is null
    and known_start_at = known_end_at
    and (source_file, true) in (from record_files) as never_ran
  from listed
),

-- which fields do some records lack that other records may have?
lacking as (
  select
    count(cluster) between 1 and count(*) - 1 as clusters,
    coalesce(bool_or(coalesce(bare_id, '') = ''), false) as ids
  from typed
),

-- other files may have the cluster or the number that a record lacks
numbered as (
  select
    nullif(bare_id, '') as id,
    submitted_at,
    any_value(cluster) as cluster
  from typed
  where cluster is not null and (select clusters from lacking)
  group by all
  having count(distinct cluster) = 1
),

shown as (
  select
    shown_id,
    submitted_at,
    case when count(distinct cluster) = 1 then any_value(cluster) end as cluster,
    any_value(nullif(bare_id, '')) as id
  from typed
  where nullif(bare_id, '') is not null and (select clusters or ids from lacking)
  group by all
  having count(distinct row(bare_id, cluster)) = 1
),

only_one as (
  select case when count(distinct cluster) = 1 then any_value(cluster) end as cluster
  from cluster_names
)

select
  t.source_file,
  t.source_line,
  t.raw,
  t.fault,
  t.shown_id,
  coalesce(t.cluster, only_one.cluster, numbered.cluster, shown.cluster) as cluster,
  coalesce(nullif(t.bare_id, ''), shown.id, t.shown_id) as id,
  t."partition",
  t.qos,
  t.account,
  t.user,
  t.uid,
  t.word as state,
  nullif(regexp_extract(t.state, ' by (.+?)\+?$', 1), '') as ended_by,
  t.submitted_at,
  t.known_eligible_at as eligible_at,
  case
    when t.word = 'PENDING' or t.never_ran then null
    when t.known_start_at is not null then t.known_start_at
    -- a job's end, run time and suspensions give a start that is not recorded
    when t.elapsed_s > 0
      then t.known_end_at - to_seconds(t.elapsed_s + coalesce(slurm_span_s(t.suspended), 0))
  end as started_at,
  coalesce(t.never_ran, false) as never_ran,
  case
    when coalesce(t.word, '') not in (
      'PENDING', 'RUNNING', 'SUSPENDED', 'COMPLETING', 'CONFIGURING', 'STOPPED', 'SIGNALING',
      'STAGE_OUT'
    )
      then t.known_end_at
  end as ended_at,
  t.elapsed_s,
  slurm_span_s(t.suspended) as suspended_s,
  nullif(
    coalesce(60 * try_cast(t.timelimitraw as double), slurm_span_s(t.timelimit)), 0
  ) as time_limit_s,
  t.reqtres as requested,
  t.alloctres as allocated,
  coalesce(allocated.cpus, requested.cpus, nullif(try_cast(t.ncpus as double), 0)) as cpus,
  coalesce(allocated.mem_gb, requested.mem_gb, least_requested.mem_gb) as mem_gb,
  try_cast(regexp_extract(t.exitcode, '^([0-9]+):', 1) as integer) as code,
  try_cast(regexp_extract(t.exitcode, ':([0-9]+)$', 1) as integer) as signal,
  t.nodelist as node_list,
  t.reason as wait_reason,
  case when starts_with(t.admincomment, 'JS1:') then t.admincomment end as summary,
  case
    when t.fault is not null then t.fault
    when t.shown_id is null then 'it has no job id'
    when contains(t.shown_id, '.') then 'a step of a job, not a job'
    when t.submitted_at is null then 'Submit is not a time'
    when t.start is not null and t.known_start_at is null then 'Start is not a time'
    when t."end" is not null and t.known_end_at is null then 'End is not a time'
    when t.known_end_at < t.known_start_at then 'it ended before it started'
  end as reject
from typed as t
cross join only_one
left join resources as allocated
  on t.alloctres = allocated.tres
left join resources as requested
  on t.reqtres = requested.tres
left join resources as least_requested
  on 'mem=' || t.reqmem = least_requested.tres
left join numbered
  on t.cluster is null and t.bare_id = numbered.id and t.submitted_at = numbered.submitted_at
left join shown
  on
    (t.cluster is null or t.bare_id is null or t.bare_id = '')
    and t.shown_id = shown.shown_id
    and t.submitted_at = shown.submitted_at
    and coalesce(t.cluster = shown.cluster, true)
