-- When had each virtual cluster no quota left for a gang?
-- One row per method, virtual cluster, pool, gang size that waits for it there, and moment at which
-- the answer changed.
--   method         as in vc_quotas
--   vc             virtual cluster
--   pool           as in pools; the quota is for all pools together
--   gpus           gang size
--   moment         as in machine_use; the first row stands for all time before
--   over           true when its GPUs in use and the gang together exceeded its quota, from
--                  then on
--   over_us        microseconds before the moment during which they did
--   over_no_fit_us   of these, while the pool could not place the gang either
--   over_total_us  of these, while it had fewer GPUs free than the gang at all
--   no_fit_us        microseconds before the moment, over or not, without a placement for the gang
--   total_us       of these, with fewer GPUs free than the gang at all
with gangs as (
  select distinct
    waits.vc,
    job_pools.pool,
    waits.gpus
  from waits
  inner join job_pools using (job_id)
  where waits.gpus is not null
),

limits as (
  select
    vc_quotas.method,
    vc_quotas.vc,
    gangs.pool,
    gangs.gpus,
    vc_quotas.gpus - gangs.gpus as most
  from vc_quotas
  inner join gangs using (vc)
),

flips as (
  select
    limits.* exclude (most),
    vc_use.moment,
    vc_use.gpus_after > limits.most as over
  from limits
  inner join vc_use
    on
      limits.vc = vc_use.vc
      and (limits.most < vc_use.gpus_after) <> (limits.most < vc_use.gpus_before)
  union all by name
  select
    limits.* exclude (most),
    0 as moment,
    limits.most < 0 as over
  from limits
),

with_shortages as (
  select
    flips.*,
    reading(s.no_fit_us, s.no_fit, s.moment, flips.moment) as no_fit_us,
    reading(s.too_few_us, s.too_few, s.moment, flips.moment) as total_us
  from flips
  asof left join shortages as s
    on flips.pool = s.pool and flips.gpus = s.gpus and flips.moment >= s.moment
),

spells as (
  select
    *,
    lag(over) over in_time as was_over,
    lag(moment) over in_time as moment_before,
    lag(no_fit_us) over in_time as no_fit_us_before,
    lag(total_us) over in_time as total_us_before
  from with_shortages
  window in_time as (partition by method, vc, pool, gpus order by moment)
)

select
  method,
  vc,
  pool,
  gpus,
  moment,
  over,
  coalesce(sum(moment // 2 - moment_before // 2) filter (where was_over) over in_time, 0)::bigint
    as over_us,
  coalesce(sum(no_fit_us - no_fit_us_before) filter (where was_over) over in_time, 0)::bigint
    as over_no_fit_us,
  coalesce(sum(total_us - total_us_before) filter (where was_over) over in_time, 0)::bigint
    as over_total_us,
  no_fit_us,
  total_us
from spells
window in_time as (partition by method, vc, pool, gpus order by moment)
