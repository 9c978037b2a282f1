-- How often do GPUs fail?
-- One row per cabinet, by the last cabinet of each GPU.
--   user       identifier of the cabinet
--   gang       gang-size bucket: lives are of single GPUs
--   attempts   GPUs
--   gpu_years  GPU years in service
--   failures   double-bit errors and GPUs off the bus
select
  col || '-' || row as "user",
  '1' as gang,
  count(*) as attempts,
  sum(time) / 31557600 as gpu_years,
  sum(dbe + otb) as failures
from published
group by all
order by all
