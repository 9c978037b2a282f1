-- Do GPUs fail more often from their third year on?
-- One row per (cabinet, late), by the last cabinet of each GPU.
--   user       identifier of the cabinet
--   late       true for the time from the third year on
--   attempts   GPUs
--   gpu_years  GPU years in service
--   failures   GPUs taken out after a double-bit error or off the bus
with parts as (
  select
    col || '-' || row as "user",
    time / 31557600 as age,
    dead_dbe or dead_otb as dead,
    unnest([false, true]) as late,
    unnest([least(age, 2), greatest(age - 2, 0)]) as gpu_years,
    unnest([dead and age <= 2, dead and age > 2]) as failed
  from published
)

select
  "user",
  late,
  count(*) filter (where gpu_years > 0) as attempts,
  sum(gpu_years) as gpu_years,
  count(*) filter (where failed) as failures
from parts
group by all
order by all
