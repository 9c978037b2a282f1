-- Which measures of a sample does each reading have, and is the reading valid?
-- One row per reading of some machines.
--   measures  sum of 1 (utilisation), 4 (active multiprocessors), 8 (memory in use), 16 (power);
--             0: the reading has no measure of a sample
--   reason    reason to reject the reading; null: the reading is valid
with placed as (
  select
    r.number,
    r.file,
    r.line,
    r.at_us,
    p.machine_id,
    p.gpu,
    p.step_us,
    p.split,
    r.says & 28
    | case
      when p.util_measure = 'engine_pct' then (r.says & 2) // 2
      else r.says & 1
    end as measures,
    case when p.util_measure = 'engine_pct' then r.engine_pct else r.util_pct end as util_pct,
    r.sm_active_pct,
    r.mem_used_gb,
    r.power_w
  from batch_readings as r
  inner join series_devices as p using (series)
)

select
  number,
  file,
  line,
  at_us,
  machine_id,
  gpu,
  step_us,
  measures,
  -- least would return the number of a null and a number
  if(util_pct > 100, 100, util_pct) as util_pct,
  if(sm_active_pct > 100, 100, sm_active_pct) as sm_active_pct,
  mem_used_gb,
  power_w,
  case
    when measures = 0 then null
    when machine_id is null then 'nothing says of which machine'
    when split then 'of a GPU that is cut into MIG instances, which are read themselves'
    when gpu is null then 'nothing says of which GPU'
    -- measured fractions may slightly exceed one
    when not coalesce(util_pct between 0 and 101, true)
      then 'its utilisation is not between 0 and 100 %'
    when not coalesce(sm_active_pct between 0 and 101, true)
      then 'its active multiprocessors are not between 0 and 100 %'
    when not coalesce(mem_used_gb between 0 and 1e6, true)
      then 'its memory in use is negative, or beyond any GPU'
    when not coalesce(power_w between 0 and 1e6, true)
      then 'its power is negative, or beyond any GPU'
  end as reason
from placed
