-- Which readings of the machines at hand were not taken, and why?
-- One row per reading.
with refused as (
  select
    file,
    line,
    at_us,
    machine_id,
    gpu,
    util_pct,
    sm_active_pct,
    mem_used_gb,
    power_w,
    reason
  from judged
  where reason is not null
  union all by name
  select
    file,
    line,
    at_us,
    machine_id,
    gpu,
    util_pct,
    sm_active_pct,
    mem_used_gb,
    power_w,
    case
      when again then 'the machine has a sample of that time already'
      when tells & ~before = 0 then 'another reading of this GPU at that moment'
      else 'no utilisation of the GPU was read then'
    end as reason
  from rows_at_hand
  where tells & ~before = 0 or not whole
)

select
  files.name as source_file,
  refused.line as source_line,
  refused.reason,
  concat_ws(
    ' ',
    make_timestamp(refused.at_us)::varchar,
    refused.machine_id,
    'GPU ' || refused.gpu,
    'utilisation ' || refused.util_pct,
    'active ' || refused.sm_active_pct,
    'memory ' || refused.mem_used_gb,
    'power ' || refused.power_w
  ) as raw
from refused
inner join files
  on refused.file = files.file
