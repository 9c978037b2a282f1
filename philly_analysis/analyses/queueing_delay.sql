-- How long do attempts wait in the queue?
-- One row per (vc, gang, percentile), and one per (gang, percentile) over all virtual clusters.
--   vc          virtual cluster; null: all virtual clusters together; (none): not recorded
--   gang        gang-size bucket
--   waits       attempts with a trusted wait, waits of zero included
--   zeros       attempts that waited zero seconds
--   percentile  percentile, 0 to 100
--   wait_s      waiting time in seconds
with labelled_waits as (
  select
    coalesce(vc, '(none)') as vc,
    gang,
    wait_s
  from trusted_waits
)

select
  vc,
  gang,
  count(*) as waits,
  count(*) filter (where wait_s = 0) as zeros,
  unnest(range(101)) as percentile,
  unnest(percentiles(wait_s)) as wait_s
from labelled_waits
group by grouping sets ((vc, gang), (gang))
order by all
