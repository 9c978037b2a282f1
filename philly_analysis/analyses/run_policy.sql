-- How does the run policy change the run times of jobs?
-- One row per (policy, percentile), over ended jobs with a run time under every policy.
--   policy         run policy: span (first start to last end), sum (all attempts added), or last
--                  (the last attempt)
--   jobs           jobs
--   retried        jobs with more than one attempt; the policies differ only for these jobs
--   total_h        total run time of the jobs in hours
--   percentile     percentile, 0 to 100
--   run_s          percentile of the run time in seconds over all jobs
--   retried_run_s  percentile of the run time in seconds over the jobs with more than one attempt
with by_policy as (
  select
    unnest(['span', 'sum', 'last']) as policy,
    unnest([span_s, sum_s, last_s]) as run_s,
    attempts > 1 as retried
  from job_runs
  where
    flag is null and gpus is not null and not censored
    and span_s is not null and sum_s is not null and last_s is not null
)

select
  policy,
  count(*) as jobs,
  count(*) filter (where retried) as retried,
  total(run_s) / 3600 as total_h,
  unnest(range(101)) as percentile,
  unnest(percentiles(run_s)) as run_s,
  unnest(percentiles(case when retried then run_s end)) as retried_run_s
from by_policy
group by policy
order by all
