-- Which sample of its machine does each reading belong to?
-- One row per valid reading.
--   row_us    time of the sample, microseconds since 1970: time of the sample's first reading
--   step_us   usual time from one sample to the next
--   previous  measures of earlier readings of the same device and sample
--   complete  true where the sample has the utilisation of the device
--   repeated  true if the machine has an earlier sample of the same time
--
-- A sample of a machine's GPUs ends when half a step passes without utilisation, or a step after
-- its first reading. Other measures belong to the previous utilisation, up to a step later.
with valid as (
  select *
  from checked_readings
  where reason is null and measures > 0
),

moments as (
  select
    machine_id,
    gpu,
    at_us,
    max(step_us) as step_us
  from valid
  where measures & 1 > 0
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
  -- the steps of a machine and day, of a machine, or of all machines: the first with enough gaps
  select
    machine_id,
    day,
    -- an observed gap, not a value between two gaps
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
    case when bool_or(measures & 1 > 0) then at_us end as util_us
  from valid
  group by machine_id, at_us
),

starts as (
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
  from starts
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

located as (
  select
    valid.* exclude (step_us),
    samples.usual_us as step_us,
    samples.row_us
  from valid
  inner join samples
    on valid.machine_id = samples.machine_id and valid.at_us = samples.at_us
),

earlier as (
  select distinct
    samples.machine_id,
    samples.row_us
  from samples
  inner join earlier_samples as b
    on
      samples.machine_id = b.machine_id
      and samples.row_us >= b.from_us
      and samples.row_us < b.until_us
)

select
  located.*,
  coalesce(
    bit_or(measures) over (
      partition by machine_id, row_us, gpu order by at_us, number
      rows between unbounded preceding and 1 preceding
    ),
    0
  ) as previous,
  earlier.row_us is not null as repeated,
  not repeated and bool_or(measures & 1 > 0) over (partition by machine_id, row_us, gpu) as complete
from located
left join earlier using (machine_id, row_us)
