-- materialized
-- What do the rows of the table of jobs mean, by the map?
-- One row per row of the table: a job and its only attempt. Where rows are parts of a job, the
-- first part has the sums of all parts, the first submission, and the last start and end.
with ambiguous as (
  select job_id
  from jobs_fields
  group by job_id
  having min(cluster) <> max(cluster)
),

read_files as (
  select min(source_file) <> max(source_file) as several
  from jobs_fields
),

named as (
  select fields.* replace (
    -- a job without an identifier gets its line number, padded so that names sort like lines; an
    -- identifier that several clusters use gets the cluster's name
    coalesce(
      if(fields.job_id in (select ambiguous.job_id from ambiguous), fields.cluster || ':', '')
      || fields.job_id,
      if(read_files.several, fields.source_file || ':', '')
      || lpad(fields.source_line::varchar, 9, '0')
    ) as job_id
  )
  from jobs_fields as fields
  cross join read_files
),

-- faulty rows are parts of nothing
parts as (
  select
    *,
    row_number() over in_file as part,
    sum(gpus) over whole as all_gpus,
    sum(cpus) over whole as all_cpus,
    sum(mem_gb) over whole as all_mem_gb,
    min(submitted_at) over whole as first_submitted_at,
    max(started_at) over whole as last_started_at,
    max(ended_at) over whole as last_ended_at
  from named
  where reject is null and getvariable('jobs_are_parts')
  window
    in_file as (partition by job_id order by source_file, source_line),
    whole as (partition by job_id)
)

select
  * exclude (
    part, all_gpus, all_cpus, all_mem_gb, first_submitted_at, last_started_at, last_ended_at
  ) replace (
    all_gpus as gpus,
    all_cpus as cpus,
    all_mem_gb as mem_gb,
    first_submitted_at as submitted_at,
    last_started_at as started_at,
    last_ended_at as ended_at,
    case when part > 1 then 'a part of a job: its GPUs count for the whole' end as reject
  )
from parts
union all by name
from named
where reject is not null or not getvariable('jobs_are_parts')
