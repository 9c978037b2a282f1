-- materialized
-- How many GPUs did each virtual cluster use, from moment to moment?
-- One row per virtual cluster and moment at which the number changed; guests use no quota.
--   vc           virtual cluster
--   moment       moment of the change in doubled microseconds since 1970, as in machine_use
--   gpus_before  GPUs in use before the moment
--   gpus_after   GPUs in use from the moment on
with changes as (
  select
    vc,
    2 * epoch_us(unnest([started_at, until_at])) + unnest([1, 0]) as moment,
    unnest([gpus, -gpus]) as change
  from attempt_runs
  where vc is not null and gpus > 0 and not guest and until_at > started_at
),

moments as (
  select
    vc,
    moment,
    sum(change) as change
  from changes
  group by all
)

select
  vc,
  moment,
  (sum(change) over (partition by vc order by moment) - change)::bigint as gpus_before,
  (sum(change) over (partition by vc order by moment))::bigint as gpus_after
from moments
