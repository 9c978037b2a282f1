-- materialized by job_id
-- Which servers did each attempt hold, and for how long?
-- One row per attempt with trusted times and server.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   machine_id  identifier of the server
--   servers     servers of the attempt
--   gpus        GPUs of the attempt on all of its servers
--   started_at  start of the attempt
--   until_at    end of the attempt; for a running attempt the end of the log
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
