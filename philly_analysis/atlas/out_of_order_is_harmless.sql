-- How many overtaken attempts could not have used the GPUs?
-- One row per (day, gang).
--   day          day of the start that overtook, UTC
--   gang         gang-size bucket of the overtaken attempt
--   overtakings  starts that overtook the attempt
--   harmless     overtakings at which the overtaken attempt did not fit
select
  started_at::date as day,
  gang_bucket(waiter_gpus) as gang,
  count(*) as overtakings,
  count(*) filter (where harmless) as harmless
from overtaken_attempts
group by all
order by all
