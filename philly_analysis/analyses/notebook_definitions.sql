-- How do the archive notebook's definitions change run times and waits?
-- One row per (quantity, definition, gang, percentile).
--   quantity    quantity: run time or wait
--   definition  definition: ours, or notebook (see notebook_runs and notebook_waits)
--   gang        gang-size bucket
--   n           number of jobs (run time) or attempts (wait)
--   percentile  percentile, 0 to 100
--   value_s     seconds
with durations as (
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
from durations
group by quantity, definition, gang
order by all
