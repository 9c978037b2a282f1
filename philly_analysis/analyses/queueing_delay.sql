-- How long do attempts wait in queue?
-- One row per (vc, gang, percentile), and per (gang, percentile) over all virtual clusters.
--   vc          virtual cluster; null: all of them together; (none): not known
--   gang        gang-size bucket
--   waits       attempts whose wait is trusted, those that did not wait included
--   zeros       of these, attempts that did not wait at all
--   percentile  0 to 100
--   wait_s      seconds waited
with named as (
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
from named
group by grouping sets ((vc, gang), (gang))
order by all
