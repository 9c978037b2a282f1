-- Could overtaken attempts have used the GPUs, by gang size?
-- One row per gang size of overtaken attempts.
--   waiter_gpus  gang size of the overtaken attempt
--   overtakings  starts that overtook an attempt of this gang size
--   harmless     overtakings at which the overtaken gang could not have been placed. The free GPUs,
--                with the GPUs of the start, were then not on the fewest machines that hold the
--                gang
select
  waiter_gpus,
  count(*) as overtakings,
  count(*) filter (where harmless) as harmless
from overtaken_attempts
group by all
