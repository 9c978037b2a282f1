-- Which GPUs did each attempt hold, by their index in the server?
-- One row per attempt and GPU with a known index. An index is known if the log records the index,
-- or if the attempt held all GPUs of the server.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   machine_id  identifier of the server
--   gpu         index of the GPU in its server, from 0
select
  job_id,
  attempt,
  machine_id,
  gpu
from placements
where gpu is not null
union all
select
  p.job_id,
  p.attempt,
  p.machine_id,
  unnest(range(p.gpus))::integer as gpu
from placements as p
inner join machines as m using (machine_id)
where p.gpu is null and p.gpus = m.gpus and m.gpus = m.gpus_listed
