-- Could the attempt that was overtaken have used the GPUs?
-- One row per gang size of overtaken attempts.
--   waiter_gpus  gang size of the attempt that waited on
--   overtakings  starts that overtook such an attempt
--   harmless     of these, starts at a moment when the GPUs free, those of the start included,
--                could not place the waiting gang on the fewest machines that hold it
select
  waiter_gpus,
  count(*) as overtakings,
  count(*) filter (where harmless) as harmless
from overtaken_attempts
group by all
