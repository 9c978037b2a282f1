-- What are the samples of some machines?
-- One row per machine and time at which the utilisation of a GPU was read.
with cells as (
  select
    machine_id,
    row_us,
    gpu,
    max(step_us) as step_us,
    max(util_pct) filter (measures & ~previous & 1 > 0) as util_pct,
    max(sm_active_pct) filter (measures & ~previous & 4 > 0) as sm_active_pct,
    max(mem_used_gb) filter (measures & ~previous & 8 > 0) as mem_used_gb,
    max(power_w) filter (measures & ~previous & 16 > 0) as power_w
  from sample_readings
  where complete
  group by all
),

times as (
  select
    machine_id,
    row_us,
    lead(row_us) over (partition by machine_id order by row_us) - row_us as next_us,
    -- until the next sample if it is on time; gaps are not filled
    if(next_us <= 1.5 * max(step_us), next_us, max(step_us)) as lasts_us
  from cells
  group by machine_id, row_us
),

slots as (
  select
    machine_id,
    unnest(range(max(gpu) + 1)) as gpu
  from devices
  group by machine_id
)

select
  make_timestamp(m.row_us) as sampled_at,
  m.machine_id,
  list(cells.util_pct order by slots.gpu) as util_pct,
  if(m.lasts_us > 3600000000, 3600000000, m.lasts_us) / 1e6 as seconds,
  case when count(cells.sm_active_pct) > 0 then list(cells.sm_active_pct order by slots.gpu) end
    as sm_active_pct,
  case when count(cells.mem_used_gb) > 0 then list(cells.mem_used_gb order by slots.gpu) end
    as mem_used_gb,
  case when count(cells.power_w) > 0 then list(cells.power_w order by slots.gpu) end as power_w
from times as m
inner join slots
  on m.machine_id = slots.machine_id
left join cells
  on m.machine_id = cells.machine_id and m.row_us = cells.row_us and slots.gpu = cells.gpu
group by m.machine_id, m.row_us, m.lasts_us
order by sampled_at, m.machine_id
