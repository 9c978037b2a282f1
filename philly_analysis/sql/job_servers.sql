-- Which part of each job's placements was on each server?
-- One row per job and server.
--   job_id      identifier of the job
--   machine_id  identifier of the server
--   part        share of the job's placements that is on the server, above 0 to 1
select
  job_id,
  machine_id,
  count(*) / sum(count(*)) over (partition by job_id) as part
from placements
group by job_id, machine_id
