-- How much GPU time do failures cost, and how much would the study's guidelines save?
-- One row per reason, and one over all reasons.
--   reason              reason of the failures; all: every failed attempt whose output is known
--   trials              failed attempts whose GPU time is known
--   gpu_h               GPU hours of the failed attempts until they failed
--   early               first attempts that failed within pool_min (see failure_costs_pool)
--   pool_saved_gpu_h    GPU hours that a first run on 1 GPU of a pool would have saved
--   retried             jobs that were retried after the failure and have ended
--   passed              jobs that were retried after the failure and passed
--   retry_never_helped  true when at least 5 jobs were retried and none of the jobs passed
--   retry_saved_gpu_h   GPU hours of the attempts after a job's first failure for this reason, if
--                       no retry helped
with unhelpful_reasons as (
  select
    reason,
    retried >= 5 and passed = 0 as never_helped
  from retry_help
),

first_failures as (
  select
    f.job_id,
    f.reason,
    f.attempt
  from failed_attempts as f
  inner join unhelpful_reasons using (reason)
  where unhelpful_reasons.never_helped
  -- a job stops once, at its first failure for which a retry never helped
  qualify f.attempt = min(f.attempt) over (partition by f.job_id)
),

later_use as (
  select
    coalesce(first_failures.reason, 'all') as reason,
    total(runs.run_s * runs.gpus) / 3600 as gpu_h
  from first_failures
  inner join attempt_runs as runs
    on first_failures.job_id = runs.job_id and first_failures.attempt < runs.attempt
  where runs.flag is null
  group by grouping sets ((first_failures.reason), ())
),

retry_results as (
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
    coalesce(total(gpu_h), 0) as gpu_h,
    count(*) filter (where early) as early,
    coalesce(
      total(case when early and gpus > 1 then (gpus - 1) * run_s / 3600 end), 0
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
  retry_results.retried,
  retry_results.passed,
  unhelpful_reasons.never_helped as retry_never_helped,
  coalesce(later_use.gpu_h, 0) as retry_saved_gpu_h
from costs
left join retry_results using (reason)
left join unhelpful_reasons using (reason)
left join later_use using (reason)
order by all
