-- GPUs allocated to attempts of the Philly log.
-- One row per listed GPU, and one row per detail entry without a list of GPUs.
select
  job_id,
  attempt,
  machine_id,
  gpu,
  container,
  'cluster_job_log' as source_file,
  source_line,
  detail::varchar as raw,
  case
    when coalesce(json_type(detail), '') <> 'OBJECT' then 'the detail is not an object'
    when again then 'its job stands earlier in the log'
    when machine_id is null then 'ip is not text'
    when gpu_name is null then 'gpus is not a list of names'
    when gpu is null then 'a GPU name is not gpu and a number'
  end as reject
from log_gpus
