-- materialized
-- What do the rows of the table of jobs mean, by the map?
-- One row per row of the table: a job and its only attempt.
with ambiguous as (
  select job_id
  from jobs_fields
  group by job_id
  having min(cluster) <> max(cluster)
),

read_files as (
  select min(source_file) <> max(source_file) as several
  from jobs_fields
)

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
