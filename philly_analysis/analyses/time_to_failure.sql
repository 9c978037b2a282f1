-- How long do attempts run until they fail, by reason and by demand?
-- One row per (reason, demand, percentile).
--   reason      why; all: every failed attempt whose output is known
--   demand      the study's demand buckets; all: any
--   trials      failed attempts whose run time is known
--   gpu_h       GPU hours until they failed
--   percentile  0 to 100
--   run_s       seconds from start to failure
select
  coalesce(reason, 'all') as reason,
  coalesce(demand, 'all') as demand,
  count(*) as trials,
  sum(gpu_h) as gpu_h,
  unnest(range(101)) as percentile,
  unnest(percentiles(run_s)) as run_s
from timed_failures
group by grouping sets ((reason, demand), (reason), (demand), ())
having count(*) > 0
order by all
