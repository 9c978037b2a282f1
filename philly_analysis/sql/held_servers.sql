-- Which servers did each attempt hold, and for how long?
-- One row per attempt with trusted times, and server.
--   job_id      job
--   attempt     which attempt, from 1
--   machine_id  server
--   servers     servers of the attempt
--   gpus        GPUs of the attempt, on all of them
--   started_at  when it got them
--   until_at    its end, or the end of the log for one that still ran
select
  p.job_id,
  p.attempt,
  p.machine_id,
  count(*) over (partition by p.job_id, p.attempt) as servers,
  runs.gpus,
  runs.started_at,
  runs.until_at
from placed_servers as p
inner join attempt_runs as runs using (job_id, attempt)
where runs.until_at >= runs.started_at and runs.flag is null
