-- What does each reading tell of a sample, and why can it not be taken?
-- One row per reading of the machines at hand.
--   tells   1 utilisation, 4 active multiprocessors, 8 memory in use, 16 power, or a sum of these;
--           0: only of the device
--   reason  why it cannot be taken; null: it can
with placed as (
  select
    r.number,
    r.file,
    r.line,
    r.at_us,
    p.machine_id,
    p.gpu,
    p.step_us,
    p.cut,
    r.says & 28
    | case
      when p.util_measure = 'engine_pct' then (r.says & 2) // 2
      else r.says & 1
    end as tells,
    case when p.util_measure = 'engine_pct' then r.engine_pct else r.util_pct end as util_pct,
    r.sm_active_pct,
    r.mem_used_gb,
    r.power_w
  from readings_at_hand as r
  inner join places as p using (series)
)

select
  number,
  file,
  line,
  at_us,
  machine_id,
  gpu,
  step_us,
  tells,
  -- of a null and a number, least would take the number
  if(util_pct > 100, 100, util_pct) as util_pct,
  if(sm_active_pct > 100, 100, sm_active_pct) as sm_active_pct,
  mem_used_gb,
  power_w,
  case
    when tells = 0 then null
    when machine_id is null then 'nothing says of which machine'
    when cut then 'of a GPU that is cut into MIG instances, which are read themselves'
    when gpu is null then 'nothing says of which GPU'
    -- fractions that were measured pass one by a little
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
