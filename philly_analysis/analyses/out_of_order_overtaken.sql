-- Could the attempt that was overtaken have used the GPUs?
-- One row per gang bucket of overtaken attempts.
--   gang         gang-size bucket of the attempt that waited on
--   overtakings  starts that overtook such an attempt
--   harmless     of these, starts at a moment when the GPUs free, those of the start included,
--                could not place the waiting gang on the fewest machines that hold it
select
  gang_bucket(waiter_gpus) as gang,
  sum(overtakings)::bigint as overtakings,
  sum(harmless)::bigint as harmless
from overtaken_gangs
group by all
order by all
