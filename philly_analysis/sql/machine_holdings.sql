-- How many GPUs of each server were allocated, and when?
-- One row per interval of an allocated GPU, or attempt whose GPU indices are not known, and server.
--   machine_id  server
--   started_at  start of the allocation
--   until_at    end of the allocation, or of the log
--   gpus        GPUs; where an attempt's share of the server is not known, its GPUs spread evenly
select
  machine_id,
  started_at,
  until_at,
  1 as gpus
from busy_gpus
union all by name
select
  p.machine_id,
  r.started_at,
  r.until_at,
  -- where it is not known how many, the attempt's GPUs are taken as spread evenly
  coalesce(p.gpus, r.gpus / count(*) over (partition by p.job_id, p.attempt)) as gpus
from placements as p
inner join attempt_runs as r using (job_id, attempt)
where p.gpu is null and r.until_at > r.started_at
