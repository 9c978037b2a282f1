-- materialized
-- What do the rows of the table of jobs mean, by the map?
-- One row per row of the table: a job and its only attempt.
select * replace (
  -- a job without an identifier gets its line's, padded so that names sort as lines do; an
  -- identifier that several clusters use gets the cluster's name
  coalesce(
    if(
      min(cluster) over (partition by job_id) <> max(cluster) over (partition by job_id),
      cluster || ':', ''
    ) || job_id,
    if(min(source_file) over () <> max(source_file) over (), source_file || ':', '')
    || lpad(source_line::varchar, 9, '0')
  ) as job_id
)
from jobs_fields
