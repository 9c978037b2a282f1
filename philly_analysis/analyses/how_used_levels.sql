-- For how many GPU hours did allocated GPUs have each level of utilisation, as samples show?
-- One row per level.
--   level  the least percent of it, a quarter each; -1: exactly 0 %
--   gpu_h  GPU hours
select
  case when bin = 0 then -1 else 25 * ((bin - 1) // 25) end as level,
  sum(minutes) / 60 as gpu_h
from gpu_util_bins
group by all
order by all
