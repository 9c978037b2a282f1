-- Which readings of some machines are rejected, and why?
-- One row per reading.
with rejected as (
  select *
  from checked_readings
  where reason is not null
  union all by name
  select * replace (
    case
      when repeated then 'the machine has a sample of that time already'
      when measures & ~previous = 0 then 'another reading of this GPU at that moment'
      else 'no utilisation of the GPU was read then'
    end as reason
  )
  from sample_readings
  where measures & ~previous = 0 or not complete
)

select
  files.name as source_file,
  rejected.line as source_line,
  rejected.reason,
  concat_ws(
    ' ',
    make_timestamp(rejected.at_us)::varchar,
    rejected.machine_id,
    'GPU ' || rejected.gpu,
    'utilisation ' || rejected.util_pct,
    'active ' || rejected.sm_active_pct,
    'memory ' || rejected.mem_used_gb,
    'power ' || rejected.power_w
  ) as raw
from rejected
inner join files
  on rejected.file = files.file
