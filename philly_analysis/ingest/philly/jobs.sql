-- Jobs of the Philly scheduler log.
-- One row per entry of cluster_job_log.
with entries as (
  select
    source_file,
    source_line,
    entry,
    json_type(entry) as type,
    json_type(entry, '$.jobid') as jobid_type,
    json_type(entry, '$.submitted_time') as submitted_type,
    json_type(entry, '$.attempts') as attempts_type,
    -- the log has "None" for unknown values
    nullif(trim(entry ->> '$.jobid'), 'None') as job_id,
    nullif(trim(entry ->> '$.vc'), 'None') as vc,
    nullif(trim(entry ->> '$.user'), 'None') as user,
    nullif(trim(entry ->> '$.status'), 'None') as status,
    nullif(trim(entry ->> '$.submitted_time'), 'None') as submitted,
    try_strptime(submitted, '%Y-%m-%d %H:%M:%S') as submitted_at
  from cluster_job_log
),

gangs as (
  select job_id, min_by(gpus, attempt) as gpus
  from log_attempts
  where gpus > 0 and not again
  group by job_id
)

select
  entries.job_id,
  entries.vc,
  entries.user,
  gangs.gpus,
  entries.submitted_at,
  entries.status,
  case when entries.submitted_at < log_complete.since_at then 'left_truncated' end as flag,
  entries.source_file,
  entries.source_line,
  entries.entry::varchar as raw,
  case
    when coalesce(entries.type, '') <> 'OBJECT' then 'the entry is not an object'
    when entries.jobid_type not in ('VARCHAR', 'NULL') then 'jobid is not text'
    when entries.submitted_type not in ('VARCHAR', 'NULL') then 'submitted_time is not text'
    when entries.submitted <> '' and entries.submitted_at is null
      then 'submitted_time is not a time like 2017-10-09 07:01:55'
    when entries.attempts_type not in ('ARRAY', 'NULL') then 'attempts is not a list'
  end as reject
from entries
left join gangs using (job_id)
cross join log_complete
