-- materialized
-- Attempts of the scheduler log, with the number of listed GPUs.
-- One row per element of an entry's attempts.
--   source_line  number of the log entry, from 1
--   job_id       job
--   attempt      position in the entry's list of attempts, from 1
--   element      the attempt as JSON
--   again        true where an earlier entry, with a time of submission, is the same job
--   starts       start as text; null: unknown
--   ends         end as text; null: unknown
--   started_at   start; null: unknown, or the text is no time
--   ended_at     end; null: unknown, or the text is no time
--   gpus         number of GPUs that the attempt's detail lists
with elements as (
  select
    source_line,
    nullif(trim(entry ->> '$.jobid'), 'None') as job_id,
    source_line > min(source_line) filter (
      try_strptime(entry ->> '$.submitted_time', '%Y-%m-%d %H:%M:%S') is not null
    ) over (partition by job_id) as again,
    unnest(json_extract(entry, '$.attempts[*]')) as element,
    generate_subscripts(json_extract(entry, '$.attempts[*]'), 1) as attempt
  from cluster_job_log
)

select
  source_line,
  job_id,
  attempt::integer as attempt,
  element,
  coalesce(again, false) as again,
  nullif(nullif(trim(element ->> '$.start_time'), 'None'), '') as starts,
  nullif(nullif(trim(element ->> '$.end_time'), 'None'), '') as ends,
  try_strptime(starts, '%Y-%m-%d %H:%M:%S') as started_at,
  try_strptime(ends, '%Y-%m-%d %H:%M:%S') as ended_at,
  len(json_extract(element, '$.detail[*].gpus[*]'))::integer as gpus
from elements
