-- How much of the time that they asked for do jobs use?
-- One row per gang size, and one over all of them, and percentile.
--   gang          gang-size bucket; all: every attempt
--   attempts      attempts that ended, with a time limit
--   at_limit      of these, attempts that their limit ended
--   tenfold       of these, attempts that asked for more than ten times what they used
--   used_gpu_h    GPU hours allocated to them
--   unused_gpu_h  GPU hours from their ends to their limits
--   percentile    0 to 100
--   used_frac     time used over time asked that so many do not exceed
select
  coalesce(gang, 'all') as gang,
  count(*) as attempts,
  count(*) filter (where at_limit) as at_limit,
  count(*) filter (where used_frac < 0.1) as tenfold,
  sum(used_gpu_h) as used_gpu_h,
  sum(unused_gpu_h) as unused_gpu_h,
  unnest(range(101)) as percentile,
  unnest(percentiles(used_frac)) as used_frac
from limited_runs
group by grouping sets ((gang), ())
having count(*) > 0
order by all
