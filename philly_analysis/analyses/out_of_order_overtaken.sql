-- Could overtaken attempts have used the GPUs, by gang-size bucket?
-- One row per gang bucket of overtaken attempts.
--   gang         gang-size bucket of the overtaken attempt
--   overtakings  starts that overtook an attempt of this gang size
--   harmless     overtakings at which the overtaken gang could not have been placed. The free GPUs,
--                with the GPUs of the start, were then not on the fewest machines that hold the
--                gang
select
  gang_bucket(waiter_gpus) as gang,
  sum(overtakings)::bigint as overtakings,
  sum(harmless)::bigint as harmless
from overtaken_gangs
group by all
order by all
