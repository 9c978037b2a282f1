-- Which sample of its machine does each reading go into?
-- One row per reading that can be taken.
--   row_us   moment of the sample, microseconds since 1970: its first reading's
--   step_us  time from one sample to the next, as a rule
--   before   what the readings before it told of the same device and sample (see tells)
--   whole    true where the sample has the utilisation of the device
--
-- Utilisation of a machine's GPUs is one sample until half a step passes without any, or a whole
-- step since the first. Other measures go with the utilisation before them, up to a step.
with sound as (
  select *
  from judged
  where reason is null and tells > 0
),

moments as (
  select distinct
    machine_id,
    gpu,
    step_us,
    at_us
  from sound
  where tells & 1 > 0
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

stepped as (
  select
    sound.* exclude (step_us),
    coalesce(of_day.step_us, of_machine.step_us, of_all.step_us) as step_us
  from sound
  left join steps as of_day
    on sound.machine_id = of_day.machine_id and sound.at_us // 86400000000 = of_day.day
  left join steps as of_machine
    on sound.machine_id = of_machine.machine_id and of_machine.day is null
  left join steps as of_all
    on of_all.machine_id is null
),

read_at as (
  select
    *,
    case when tells & 1 > 0 then at_us end as util_us
  from stepped
),

begun as (
  select
    * exclude (util_us),
    coalesce(
      util_us - lag(util_us ignore nulls) over (partition by machine_id order by at_us)
      > coalesce(step_us / 2, 500000),
      util_us is not null
    ) as begins
  from read_at
),

islands as (
  select
    * exclude (begins),
    sum(begins::integer) over (
      partition by machine_id order by at_us
      range between unbounded preceding and current row
    ) as island
  from begun
),

cells as (
  select
    *,
    coalesce(
      floor((at_us - min(at_us) over (partition by machine_id, island)) / step_us), 0
    )::bigint as cell
  from islands
),

rows_told as (
  select
    * exclude (island, cell),
    min(at_us) over (partition by machine_id, island, cell) as row_us
  from cells
)

select
  *,
  coalesce(
    bit_or(tells) over (
      partition by machine_id, row_us, gpu order by at_us, number
      rows between unbounded preceding and 1 preceding
    ),
    0
  ) as before,
  bool_or(tells & 1 > 0) over (partition by machine_id, row_us, gpu) as whole
from rows_told
