-- Samples of the machines at hand.
-- One row per machine and moment at which the utilisation of a GPU of it was read.
with told as (
  select
    machine_id,
    row_us,
    gpu,
    max(step_us) as step_us,
    max(util_pct) filter (tells & ~before & 1 > 0) as util_pct,
    max(sm_active_pct) filter (tells & ~before & 4 > 0) as sm_active_pct,
    max(mem_used_gb) filter (tells & ~before & 8 > 0) as mem_used_gb,
    max(power_w) filter (tells & ~before & 16 > 0) as power_w
  from rows_at_hand
  where whole
  group by all
),

moments as (
  select
    machine_id,
    row_us,
    lead(row_us) over (partition by machine_id order by row_us) - row_us as next_us,
    -- until the next one, if it comes in time; a gap is not filled
    if(next_us <= 1.5 * max(step_us), next_us, max(step_us)) as stands_us
  from told
  group by machine_id, row_us
),

seats as (
  select
    machine_id,
    unnest(range(max(gpu) + 1)) as gpu
  from devices
  group by machine_id
)

select
  make_timestamp(m.row_us) as sampled_at,
  m.machine_id,
  list(told.util_pct order by seats.gpu) as util_pct,
  if(m.stands_us > 3600000000, 3600000000, m.stands_us) / 1e6 as seconds,
  case when count(told.sm_active_pct) > 0 then list(told.sm_active_pct order by seats.gpu) end
    as sm_active_pct,
  case when count(told.mem_used_gb) > 0 then list(told.mem_used_gb order by seats.gpu) end
    as mem_used_gb,
  case when count(told.power_w) > 0 then list(told.power_w order by seats.gpu) end as power_w
from moments as m
inner join seats
  on m.machine_id = seats.machine_id
left join told
  on m.machine_id = told.machine_id and m.row_us = told.row_us and seats.gpu = told.gpu
group by m.machine_id, m.row_us, m.stands_us
order by sampled_at, m.machine_id
