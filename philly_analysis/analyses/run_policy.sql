-- What does the rule that makes attempts a job's run time do to the number?
-- One row per (policy, percentile), of jobs whose run is over and known under every policy.
--   policy       span: first start to last end; sum: of all attempts; last: the last attempt
--   jobs         jobs
--   retried      of these, jobs with more than one attempt: the rest run equally long under each
--   total_h      hours that they ran in all
--   percentile   0 to 100
--   run_s        seconds, over all jobs
--   retried_run_s  seconds, over jobs with more than one attempt
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
  sum(run_s) / 3600 as total_h,
  unnest(range(101)) as percentile,
  unnest(percentiles(run_s)) as run_s,
  unnest(percentiles(case when retried then run_s end)) as retried_run_s
from by_policy
group by policy
order by all
