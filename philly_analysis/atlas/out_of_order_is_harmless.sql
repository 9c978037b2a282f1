-- Of the attempts that were overtaken, how many could not have used the GPUs?
-- One row per (day, gang).
--   day          day of the start that overtook, UTC
--   gang         gang-size bucket of the attempt that waited on
--   overtakings  starts that overtook it
--   harmless     of these, starts that cost it nothing: it did not fit anyway
select
  started_at::date as day,
  gang_bucket(waiter_gpus) as gang,
  count(*) as overtakings,
  count(*) filter (where harmless) as harmless
from overtaken_attempts
group by all
order by all
