-- How many GPUs of which server were allocated to each attempt, and when?
-- One row per attempt that took time, and server.
select
  job_id,
  prefix,
  node,
  started_at,
  ended_at,
  coalesce(gpus, about_gpus) as gpus,
  gpus as known_gpus
from shares
where coalesce(ended_at > started_at, true)
