-- Which part of each job's placements was on each server?
-- One row per job and server.
--   job_id      identifier of the job
--   machine_id  identifier of the server
--   part        share of the job's placements that is on the server, above 0 to 1
--   first       true for the first of the job's servers by name
select
  job_id,
  machine_id,
  count(*) / sum(count(*)) over (partition by job_id) as part,
  machine_id = min(machine_id) over (partition by job_id) as first
from placements
group by job_id, machine_id
