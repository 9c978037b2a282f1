-- What would a pool cost in which each gang first runs on one GPU?
-- One row.
--   pool_min    minutes that a gang spends in the pool: earlier failures count as early
--   held_gpu_h  GPU hours allocated to attempts with trusted times
--   cost_gpu_h  GPU hours that the pool would spend on first attempts of more than one GPU; an
--               attempt without a known run time counts pool_min
with pool as (
  select 5 as pool_min
)

select
  pool.pool_min,
  coalesce(total(runs.run_s * runs.gpus), 0) / 3600 as held_gpu_h,
  coalesce(
    total(
      case when runs.attempt = 1 and runs.gpus > 1 then least(runs.run_s, 60 * pool.pool_min) end
    ),
    0
  ) / 3600 as cost_gpu_h
from pool
left join attempt_runs as runs
  on runs.flag is null
group by pool.pool_min
order by all
