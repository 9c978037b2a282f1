-- Which GPUs did each attempt hold, as far as it is known which of their server they are?
-- One row per attempt and GPU with an index: one that the log gives, or any of a server all of
-- whose GPUs the attempt had.
--   job_id      job
--   attempt     which attempt, from 1
--   machine_id  server
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
