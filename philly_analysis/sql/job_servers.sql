-- materialized by job_id
-- Which part of each job's placements was on each server?
-- One row per job and server.
--   job_id      identifier of the job
--   machine_id  identifier of the server
--   part        share of the job's placements that is on the server, above 0 to 1
--   first       true for the first of the job's servers by name
with placed_jobs as (
  select
    job_id,
    count(*) as placements,
    min(machine_id) as first_machine,
    max(machine_id) as last_machine
  from placements
  group by job_id
)

select
  job_id,
  first_machine as machine_id,
  1::double as part,
  true as first
from placed_jobs
where first_machine = last_machine
union all
-- most jobs have one server: only the placements of other jobs are counted by server
select
  job_id,
  p.machine_id,
  count(*) / any_value(j.placements) as part,
  p.machine_id = any_value(j.first_machine) as first
from placements as p
inner join placed_jobs as j using (job_id)
where j.first_machine < j.last_machine
group by job_id, p.machine_id
