-- How long do attempts run until they fail, by reason and by demand?
-- One row per (reason, demand, percentile).
--   reason      reason of the failures; all: every failed attempt whose output is known
--   demand      demand bucket of the study (1, 2-4 or >4 GPUs); all: every attempt
--   trials      failed attempts whose run time is known
--   gpu_h       GPU hours of the failed attempts until they failed
--   percentile  percentile, 0 to 100
--   run_s       seconds from start to failure
select
  coalesce(reason, 'all') as reason,
  coalesce(demand, 'all') as demand,
  count(*) as trials,
  total(gpu_h) as gpu_h,
  unnest(range(101)) as percentile,
  unnest(percentiles(run_s)) as run_s
from timed_failures
group by grouping sets ((reason, demand), (reason), (demand), ())
having count(*) > 0
order by all
