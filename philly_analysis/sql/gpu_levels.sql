-- materialized by moment
-- How many GPUs were in use at once, from moment to moment?
-- One row per moment at which attempts started or ended.
--   moment  microseconds since 1970, doubled; plus one for starts (releases come before starts)
--   gpus    GPUs in use from the moment on
with changes as (
  select
    2 * epoch_us(unnest([started_at, until_at])) + unnest([1, 0]) as moment,
    unnest([gpus, -gpus]) as change
  from attempt_runs
  where gpus > 0 and until_at > started_at
)

select
  moment,
  sum(sum(change)) over (order by moment)::bigint as gpus
from changes
group by moment
