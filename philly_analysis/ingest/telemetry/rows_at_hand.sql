-- Which sample of its machine does each reading go into?
-- One row per reading that can be taken.
--   row_us   moment of the sample, microseconds since 1970: its first reading's
--   step_us  time from one sample to the next, as a rule
--   before   what the readings before it told of the same device and sample (see tells)
--   whole    true where the sample has the utilisation of the device
--   again    true where the machine has a sample of that time already
--
-- Utilisation of a machine's GPUs is one sample until half a step passes without any, or a whole
-- step since the first. Other measures go with the utilisation before them, up to a step.
with sound as (
  select *
  from judged
  where reason is null and tells > 0
),

moments as (
  select
    machine_id,
    gpu,
    at_us,
    max(step_us) as step_us
  from sound
  where tells & 1 > 0
  group by machine_id, gpu, at_us
),

gaps as (
  select
    machine_id,
    at_us // 86400000000 as day,
    coalesce(
      step_us, at_us - lag(at_us) over (partition by machine_id, gpu order by at_us)
    ) as gap_us
  from moments
),

steps as (
  -- of a day of a machine, of a machine, of all: the first that has gaps enough to tell
  select
    machine_id,
    day,
    -- a gap that there was, not one between two
    quantile_disc(gap_us, 0.5) as step_us
  from gaps
  where gap_us > 0
  group by grouping sets ((machine_id, day), (machine_id), ())
  having count(*) >= case when day is not null then 20 when machine_id is not null then 5 else 1 end
),

read_at as (
  select
    machine_id,
    at_us,
    case when bool_or(tells & 1 > 0) then at_us end as util_us
  from sound
  group by machine_id, at_us
),

begun as (
  select
    read_at.machine_id,
    read_at.at_us,
    coalesce(of_day.step_us, of_machine.step_us, of_all.step_us) as usual_us,
    coalesce(
      util_us - lag(util_us ignore nulls) over (
        partition by read_at.machine_id order by read_at.at_us
      )
      > coalesce(usual_us / 2, 500000),
      util_us is not null
    ) as begins
  from read_at
  left join steps as of_day
    on read_at.machine_id = of_day.machine_id and read_at.at_us // 86400000000 = of_day.day
  left join steps as of_machine
    on read_at.machine_id = of_machine.machine_id and of_machine.day is null
  left join steps as of_all
    on of_all.machine_id is null
),

islands as (
  select
    *,
    sum(begins::integer) over (
      partition by machine_id order by at_us rows unbounded preceding
    ) as island
  from begun
),

cells as (
  select
    *,
    coalesce(
      floor((at_us - min(at_us) over (partition by machine_id, island)) / usual_us), 0
    )::bigint as cell
  from islands
),

samples as (
  select
    machine_id,
    at_us,
    usual_us,
    min(at_us) over (partition by machine_id, island, cell) as row_us
  from cells
),

rows_told as (
  select
    sound.* exclude (step_us),
    samples.usual_us as step_us,
    samples.row_us
  from sound
  inner join samples
    on sound.machine_id = samples.machine_id and sound.at_us = samples.at_us
),

known as (
  select distinct
    samples.machine_id,
    samples.row_us
  from samples
  inner join samples_before as b
    on
      samples.machine_id = b.machine_id
      and samples.row_us >= b.from_us
      and samples.row_us < b.until_us
)

select
  rows_told.*,
  coalesce(
    bit_or(tells) over (
      partition by machine_id, row_us, gpu order by at_us, number
      rows between unbounded preceding and 1 preceding
    ),
    0
  ) as before,
  known.row_us is not null as again,
  not again and bool_or(tells & 1 > 0) over (partition by machine_id, row_us, gpu) as whole
from rows_told
left join known using (machine_id, row_us)
