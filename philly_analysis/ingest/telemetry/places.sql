-- At which place in the lists of its machine does each series' device stand?
-- One row per series.
--   series        number of the series
--   machine_id    server
--   gpu           place, from 0; null: it has none
--   cut           true where the GPU is cut into MIG instances and the series is of the whole
--   util_measure  what its utilisation is: util_pct, or engine_pct where the device has no other;
--                 null: neither was read
--   step_us       microseconds from one reading to the next, where the file tells
with devices as (
  select
    told_of.machine_id,
    series.gpu,
    series.mig_instance,
    bit_or(series.says) as says
  from series
  inner join told_of using (series)
  where told_of.machine_id is not null and series.gpu < 256
  group by all
),

cut as (
  select
    *,
    mig_instance is null
    and bool_or(mig_instance is not null) over (partition by machine_id, gpu) as cut,
    bool_or(mig_instance is not null) over (partition by machine_id) as has_instances
  from devices
),

numbered as (
  select
    *,
    case
      when cut then null
      -- a scheduler counts instances as it counts GPUs
      when has_instances
        then
          row_number() over (
            partition by machine_id, cut
            order by gpu, try_cast(mig_instance as integer), mig_instance
          ) - 1
      else gpu
    end::integer as place
  from cut
)

select
  series.series,
  told_of.machine_id,
  n.place as gpu,
  coalesce(n.cut, false) as cut,
  case when n.says & 1 > 0 then 'util_pct' when n.says & 2 > 0 then 'engine_pct' end
    as util_measure,
  series.step_us
from series
inner join told_of using (series)
left join numbered as n
  on
    told_of.machine_id = n.machine_id
    and series.gpu = n.gpu
    and series.mig_instance is not distinct from n.mig_instance
