-- What does Helios' summary of its four clusters answer?
-- One row per (claim, cluster).
--   claim    claim
--   cluster  cluster
--   value    effect in the unit of the claim
--   low      lower limit of it; null: none is implied
--   high     upper limit of it; null: none is implied
--   n        jobs on GPUs
with named as (
  select
    *,
    'Helios ' || id as cluster,
    complete_gpu_time + cancel_gpu_time + fail_gpu_time as gpu_time
  from published
  where id <> 'total'
),

answers as (
  select
    'jobs_are_short' as claim,
    cluster,
    med_run_time_gpu as value,
    null::double as low,
    null::double as high,
    gpu_job_num as n
  from named
  union all
  select
    'most_jobs_wait_little',
    cluster,
    med_que_time_gpu,
    null,
    null,
    gpu_job_num
  from named
  union all
  select
    'unsuccessful_jobs_cost_most',
    cluster,
    (1 - complete_gpu_time / gpu_time) / (1 - complete_rate_gpu),
    null,
    null,
    gpu_job_num
  from named
  union all
  select
    'killed_jobs_cost_much',
    cluster,
    100 * cancel_gpu_time / gpu_time,
    null,
    null,
    gpu_job_num
  from named
  union all
  -- a median of one GPU: more than half of the jobs are on one
  select
    'most_jobs_use_one_gpu',
    cluster,
    100 * (gpu_job_num // 2 + 1) / gpu_job_num,
    100 * (gpu_job_num // 2 + 1) / gpu_job_num,
    100,
    gpu_job_num
  from named
  where med_gpu_num = 1
  union all
  select
    'jobs_need_less_than_one_gpu',
    cluster,
    100 * cpu_job_num / job_num,
    null,
    null,
    job_num
  from named
  where cpu_job_num > 0
)

select
  claim,
  cluster,
  value,
  low,
  high,
  n
from answers
where value is not null
order by all
