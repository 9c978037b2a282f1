-- Which index in the lists of its machine does the device of each series have?
-- One row per series.
--   series        number of the series
--   machine_id    server
--   gpu           index, from 0; without an index the rank of the bus id; null: neither is known
--   split         true where the GPU is split into MIG instances and the series is of the GPU
--   util_measure  measure of utilisation: util_pct, else engine_pct; null: neither was read
--   step_us       microseconds from one reading to the next, if the file has them
with indexed as (
  select
    series.series,
    series_machines.machine_id,
    series.mig_instance,
    series.says,
    series.step_us,
    case
      when series.gpu is not null then series.gpu
      -- the driver counts GPUs in this order
      when series.bus_id is not null
        then
          dense_rank() over (
            partition by series_machines.machine_id, series.gpu is null order by series.bus_id
          ) - 1
    end as gpu
  from series
  inner join series_machines using (series)
),

devices as (
  select
    machine_id,
    gpu,
    mig_instance,
    bit_or(says) as says
  from indexed
  where machine_id is not null and gpu < 256
  group by all
),

split as (
  select
    *,
    mig_instance is null
    and bool_or(mig_instance is not null) over (partition by machine_id, gpu) as split,
    bool_or(mig_instance is not null) over (partition by machine_id) as has_instances
  from devices
),

numbered as (
  select
    *,
    case
      when split then null
      -- a scheduler counts instances like GPUs
      when has_instances
        then
          row_number() over (
            partition by machine_id, split
            order by gpu, try_cast(mig_instance as integer), mig_instance
          ) - 1
      else gpu
    end::integer as index
  from split
)

select
  indexed.series,
  indexed.machine_id,
  n.index as gpu,
  coalesce(n.split, false) as split,
  case when n.says & 1 > 0 then 'util_pct' when n.says & 2 > 0 then 'engine_pct' end
    as util_measure,
  indexed.step_us
from indexed
left join numbered as n
  on
    indexed.machine_id = n.machine_id
    and indexed.gpu = n.gpu
    and indexed.mig_instance is not distinct from n.mig_instance
