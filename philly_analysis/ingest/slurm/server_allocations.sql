-- How many GPUs of which server were allocated to each attempt, and when?
-- One row per attempt that took time, and server.
select
  shares.job_id,
  shares.prefix,
  shares.node,
  records.started_at,
  records.ended_at,
  coalesce(shares.gpus, shares.about_gpus) as gpus,
  shares.gpus as known_gpus
from shares
inner join records
  on
    shares.job_id = records.job_id
    and shares.attempt = records.attempt
    and records.reject is null
where coalesce(records.ended_at > records.started_at, true)
