-- Could the attempt that was overtaken have used the GPUs?
-- One row per gang size of overtaken attempts.
--   waiter_gpus  gang size of the attempt that waited on
--   overtakings  starts that overtook such an attempt
--   harmless     of these, starts at a moment when the GPUs free, those of the start included,
--                gave no room for the gang that waited on the fewest machines that hold it
with moments as (
  select
    overtakings.pool,
    overtakings.waiter_gpus,
    gang_needs.machines,
    -- releases of that microsecond are counted, its starts are not
    2 * epoch_us(overtakings.started_at) as moment
  from overtakings
  inner join gang_needs
    on overtakings.pool = gang_needs.pool and overtakings.waiter_gpus = gang_needs.gpus
  where overtakings.overtook
)

select
  moments.waiter_gpus,
  count(*) as overtakings,
  count(*) filter (where room.room < moments.waiter_gpus) as harmless
from moments
asof left join room
  on
    moments.pool = room.pool
    and moments.machines = room.machines
    and moments.moment >= room.moment
group by all
