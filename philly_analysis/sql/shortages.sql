-- When could the cluster not give a gang its GPUs?
-- One row per gang size, kind and moment at which the answer changed.
--   gpus         gang size
--   kind         room: on the fewest machines that hold it; total: on any machines
--   moment       as in machine_use; the first row stands for all time before
--   short        true when it could not, from then on
--   short_us     microseconds before the moment during which it could not
with servers as (
  select count(*) as machines
  from machines
  where gpus > 0
),

limits as (
  select
    gpus,
    'room' as kind,
    machines
  from gang_needs
  where machines is not null
  union all by name
  select
    gang_needs.gpus,
    'total' as kind,
    servers.machines
  from gang_needs
  cross join servers
),

answers as (
  select
    machines,
    moment,
    room,
    lag(room) over (partition by machines order by moment) as room_before
  from room
),

flips as (
  select
    limits.gpus,
    limits.kind,
    answers.moment,
    answers.room < limits.gpus as short
  from limits
  inner join answers
    on
      limits.machines = answers.machines
      and (
        answers.room_before is null
        or (limits.gpus > answers.room) <> (limits.gpus > answers.room_before)
      )
),

spells as (
  select
    *,
    lag(short) over (partition by gpus, kind order by moment) as was_short,
    lag(moment) over (partition by gpus, kind order by moment) as moment_before
  from flips
)

select
  gpus,
  kind,
  moment,
  short,
  coalesce(
    sum(moment // 2 - moment_before // 2) filter (where was_short)
      over (partition by gpus, kind order by moment),
    0
  )::bigint as short_us
from spells
