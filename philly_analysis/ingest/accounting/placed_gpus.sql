-- materialized
-- Which GPUs of which server did each attempt hold?
-- One row per attempt that started with GPUs, and server; per GPU where its index is recorded.
with unnested as (
  select
    job_id,
    attempt,
    started_at,
    ended_at,
    unnest(servers) as node,
    unnest(server_gpus) as gpus,
    unnest(gpu_indices) as gpu,
    source_file,
    source_line
  from allocations
  where started_at is not null and gpus > 0 and servers is not null
)

select *
from unnested
where coalesce(gpus, 1) > 0
