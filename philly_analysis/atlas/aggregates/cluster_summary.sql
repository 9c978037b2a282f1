-- Which claims does a publisher's summary of clusters answer?
-- One row per (claim, cluster).
--   claim    name of the claim
--   cluster  name of the cluster
--   value    effect in the unit of the claim
--   low      lower limit of the effect; null: the data imply none
--   high     upper limit of the effect; null: the data imply none
--   n        jobs on GPUs
with named_clusters as (
  select
    *,
    case
      when id in ('Seren', 'Kalos') then 'Acme ' || id
      when id in ('Venus', 'Earth', 'Saturn', 'Uranus') then 'Helios ' || id
      when id in ('Philly', 'Helios') then id
      when id = 'PAI' then 'Alibaba PAI'
    end as cluster,
    complete_gpu_time + cancel_gpu_time + fail_gpu_time as gpu_time,
    -- a median of one GPU: more than half of the jobs are on one
    case when med_gpu_num = 1 then 100 * (gpu_job_num // 2 + 1) / gpu_job_num end as least_on_one,
    case when cpu_job_num > 0 then 100 * cpu_job_num / job_num end as without_gpu,
    -- a median below one GPU: at least half of the jobs on GPUs have a part of one
    case when med_gpu_num < 1 then 50 end as least_below_one
  from published
  where id <> 'total'
)

select
  answers.claim,
  named_clusters.cluster,
  answers.value,
  answers.low,
  answers.high,
  answers.n
from named_clusters, lateral (
  values
  ('jobs_are_short', med_run_time_gpu::double, null::double, null::double, gpu_job_num),
  ('most_jobs_wait_little', med_que_time_gpu, null, null, gpu_job_num),
  (
    'unsuccessful_jobs_cost_most',
    (1 - complete_gpu_time / gpu_time) / (1 - complete_rate_gpu),
    null,
    null,
    gpu_job_num
  ),
  ('killed_jobs_cost_much', 100 * cancel_gpu_time / gpu_time, null, null, gpu_job_num),
  ('most_jobs_use_one_gpu', least_on_one, least_on_one, 100, gpu_job_num),
  ('jobs_need_less_than_one_gpu', without_gpu, null, null, job_num),
  ('jobs_need_less_than_one_gpu', least_below_one, least_below_one, 100, gpu_job_num)
) as answers (claim, value, low, high, n)
where answers.value is not null
order by all
