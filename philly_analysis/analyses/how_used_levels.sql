-- For how many GPU hours had allocated GPUs each level of utilisation, by samples?
-- One row per level.
--   level  lowest utilisation of the quarter in %: 0, 25, 50 or 75; -1: exactly 0 %
--   gpu_h  GPU hours
select
  case when bin = 0 then -1 else 25 * ((bin - 1) // 25) end as level,
  sum(minutes) / 60 as gpu_h
from gpu_util_bins
group by all
order by all
