-- GPUs that the attempts of the scheduler log list.
-- One row per listed GPU, and one row per detail entry without a list of GPUs.
--   source_line  number of the log entry, from 1
--   job_id       job
--   attempt      position of the attempt in its job, from 1
--   again        true where an earlier entry is the same job
--   container    position of the detail entry in its attempt, from 0
--   detail       the detail entry as JSON
--   machine_id   ip of the detail entry; null: the ip is not text
--   gpu_name     name of the GPU in the log; null: no GPU is listed
--   gpu          index of the GPU; null where the name is not gpu and a number
with containers as (
  select
    source_line,
    job_id,
    attempt,
    again,
    unnest(json_extract(element, '$.detail[*]')) as detail,
    generate_subscripts(json_extract(element, '$.detail[*]'), 1) - 1 as container
  from log_attempts
)

select
  source_line,
  job_id,
  attempt,
  again,
  container::integer as container,
  detail,
  case when json_type(detail, '$.ip') = 'VARCHAR' then detail ->> '$.ip' end as machine_id,
  unnest(case
    when json_array_length(detail, '$.gpus') > 0 then json_extract_string(detail, '$.gpus[*]')
    else [null]
  end) as gpu_name,
  try_cast(regexp_extract(gpu_name, '^gpu([0-9]+)$', 1) as integer) as gpu
from containers
