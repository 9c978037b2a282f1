-- materialized by job_id
-- Which servers did the attempts of lost_attempts hold?
-- One row per attempt of lost_attempts with trusted times and server.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   machine_id  identifier of the server
--   servers     servers that the attempt held
--   gpus        GPUs allocated to the attempt
--   started_at  start of the attempt
--   until_at    end of the attempt
select
  job_id,
  attempt,
  machine_id,
  servers,
  gpus,
  started_at,
  until_at
from held_servers
semi join lost_attempts using (job_id, attempt)
