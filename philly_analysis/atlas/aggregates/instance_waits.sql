-- How long does each instance of a service on GPUs wait for its server?
-- One row per instance that is created and placed within the trace.
--   day     day of the trace, from an arbitrary Monday
--   wait_s  seconds from the instance's creation to its placement
select
  date '2024-01-01' + (creation_time // 86400)::integer as day,
  scheduled_time - creation_time as wait_s
from published
where gpu_request > 0 and creation_time is not null and scheduled_time is not null
order by all
