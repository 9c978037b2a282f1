-- Which servers have allocations that an append adds, changes or removes?
-- One row per server.
select prefix || node as machine_id
from shares
union
select machine_id
from stored_placements
where job_id in (select job_id from removed_jobs)
