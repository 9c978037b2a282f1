-- How many GPU hours does each organisation use?
-- One row per organisation.
--   user   name of the organisation
--   jobs   jobs
--   gpu_h  GPU hours
select
  organization::varchar as "user",
  jobs,
  gpu_seconds / 3600 as gpu_h
from published
order by all
