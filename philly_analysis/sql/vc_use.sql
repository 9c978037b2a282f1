-- materialized by moment
-- How many GPUs did each virtual cluster use, from moment to moment?
-- One row per virtual cluster and moment at which the number changed; guests use no quota. GPUs
-- count from a stated launch on (see stated_launches).
--   vc           virtual cluster
--   moment       moment of the change in doubled microseconds since 1970, as in machine_use
--   gpus_before  GPUs in use before the moment
--   gpus_after   GPUs in use from the moment on
with changes as (
  select
    r.vc,
    2 * unnest([epoch_us(r.started_at) - coalesce(l.launch_us, 0), epoch_us(r.until_at)])
    + unnest([1, 0]) as moment,
    unnest([r.gpus, -r.gpus]) as change
  from attempt_runs as r
  left join stated_launches as l using (job_id, attempt)
  where r.vc is not null and r.gpus > 0 and not r.guest and r.until_at > r.started_at
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
