-- What do the definitions of the archive's notebook do to the numbers?
-- One row per (quantity, definition, gang, percentile).
--   quantity    run time or wait
--   definition  ours; notebook: see notebook_runs and notebook_waits
--   gang        gang-size bucket: 1, 2-4, 5-8, >8
--   n           jobs, or attempts
--   percentile  0 to 100
--   value_s     seconds
with observed as (
  select
    'run time' as quantity,
    'ours' as definition,
    gpus,
    run_s as value_s
  from job_runs
  where flag is null and run_s is not null
  union all by name
  select
    'run time' as quantity,
    'notebook' as definition,
    gpus,
    run_s as value_s
  from notebook_runs
  union all by name
  select
    'wait' as quantity,
    'ours' as definition,
    gpus,
    wait_s as value_s
  from waits
  where flag is null
  union all by name
  select
    'wait' as quantity,
    'notebook' as definition,
    gpus,
    wait_s as value_s
  from notebook_waits
)

select
  quantity,
  definition,
  gang_bucket(gpus) as gang,
  count(*) as n,
  unnest(range(101)) as percentile,
  unnest(percentiles(value_s)) as value_s
from observed
where gpus > 0
group by quantity, definition, gang
order by all
