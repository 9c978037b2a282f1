-- What do the definitions of the archive's notebook do to the numbers?
-- One row per (quantity, definition, gang, percentile).
--   quantity    run time or wait
--   definition  ours; notebook: see notebook_runs and notebook_waits
--   gang        gang-size bucket
--   n           jobs, or attempts
--   percentile  0 to 100
--   value_s     seconds
with observed as (
  select
    'run time' as quantity,
    'ours' as definition,
    gang,
    run_s as value_s
  from trusted_runs
  union all by name
  select
    'run time' as quantity,
    'notebook' as definition,
    gang,
    run_s as value_s
  from notebook_runs
  union all by name
  select
    'wait' as quantity,
    'ours' as definition,
    gang,
    wait_s as value_s
  from trusted_waits
  union all by name
  select
    'wait' as quantity,
    'notebook' as definition,
    gang,
    wait_s as value_s
  from notebook_waits
)

select
  quantity,
  definition,
  gang,
  count(*) as n,
  unnest(range(101)) as percentile,
  unnest(percentiles(value_s)) as value_s
from observed
group by quantity, definition, gang
order by all
