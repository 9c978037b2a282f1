-- How much of their requested time do attempts use?
-- One row per gang size and percentile, and one per percentile over all gang sizes.
--   gang          gang-size bucket; all: every attempt
--   attempts      attempts that ended, with a time limit
--   at_limit      attempts that the time limit ended
--   tenfold       attempts that requested more than ten times the time that they used
--   used_gpu_h    GPU hours allocated to the attempts
--   unused_gpu_h  requested but unused GPU hours, from the attempts' ends to their time limits
--   percentile    percentile, 0 to 100
--   used_frac     share of the requested time used that `percentile` % of the attempts do not
--                 exceed
select
  coalesce(gang, 'all') as gang,
  count(*) as attempts,
  count(*) filter (where at_limit) as at_limit,
  count(*) filter (where used_frac < 0.1) as tenfold,
  total(used_gpu_h) as used_gpu_h,
  total(unused_gpu_h) as unused_gpu_h,
  unnest(range(101)) as percentile,
  unnest(percentiles(used_frac)) as used_frac
from limited_runs
group by grouping sets ((gang), ())
having count(*) > 0
order by all
