-- What GPU time do failures cost, and what of it would the study's guidelines save?
-- One row per reason, and one over all of them.
--   reason          why; all: every failed attempt whose output is known
--   trials          failed attempts whose GPU time is known
--   gpu_h           GPU hours until they failed
--   early           first attempts that failed within the minutes of failure_costs_pool
--   pool_saved_gpu_h  GPU hours that a first run on 1 GPU of a pool would have saved
--   retried         jobs retried after such a failure that have ended
--   passed          of these, jobs that passed in the end
--   retry_never_helped  true when at least 5 jobs were retried and none passed
--   retry_saved_gpu_h  GPU hours of attempts after the first such failure, where it never helped
with hopeless as (
  select
    reason,
    retried >= 5 and passed = 0 as never_helped
  from retry_help
),

stops as (
  select
    f.job_id,
    f.reason,
    f.attempt
  from failed_attempts as f
  inner join hopeless using (reason)
  where hopeless.never_helped
  -- a job stops once, at its first failure for which a retry never helped
  qualify f.attempt = min(f.attempt) over (partition by f.job_id)
),

later as (
  select
    coalesce(stops.reason, 'all') as reason,
    sum(runs.run_s * runs.gpus) / 3600 as gpu_h
  from stops
  inner join attempt_runs as runs
    on stops.job_id = runs.job_id and stops.attempt < runs.attempt
  where runs.flag is null
  group by grouping sets ((stops.reason), ())
),

helped as (
  select
    coalesce(reason, 'all') as reason,
    sum(retried)::bigint as retried,
    sum(passed)::bigint as passed
  from retry_help
  group by grouping sets ((reason), ())
),

trials as (
  select
    failed_attempts.*,
    first and run_s <= 60 * pool.pool_min as early
  from failed_attempts
  cross join failure_costs_pool as pool
),

costs as (
  select
    coalesce(reason, 'all') as reason,
    count(gpu_h) as trials,
    coalesce(sum(gpu_h), 0) as gpu_h,
    count(*) filter (where early) as early,
    coalesce(
      sum((gpus - 1) * run_s / 3600) filter (where early and gpus > 1), 0
    ) as pool_saved_gpu_h
  from trials
  group by grouping sets ((reason), ())
  having count(*) > 0
)

select
  costs.reason,
  costs.trials,
  costs.gpu_h,
  costs.early,
  costs.pool_saved_gpu_h,
  helped.retried,
  helped.passed,
  hopeless.never_helped as retry_never_helped,
  coalesce(later.gpu_h, 0) as retry_saved_gpu_h
from costs
left join helped using (reason)
left join hopeless using (reason)
left join later using (reason)
order by all
