-- How much GPU time is in gangs of more than eight GPUs?
-- One row. Each minute has the GPUs and the number of gangs of at least eight GPUs. The GPUs beyond
-- eight per gang belong to between one gang and all gangs.
--   claim    name of the claim
--   cluster  always null: the caller names the cluster
--   value    middle of the lower and the upper limit, %
--   low      share of allocated GPU time if there are as few of the larger gangs as possible
--   high     share of allocated GPU time if there are as many of the larger gangs as possible
--   n        minutes of virtual clusters
with minutes as (
  select
    running_gpu_num as gpus,
    running_gpu_num_noless_8 as large_gpus,
    running_job_num_noless_8 as large_gangs,
    running_gpu_num_noless_8 - 8 * running_job_num_noless_8 as beyond
  from published
),

limits as (
  select
    100 * sum(case when beyond > 0 then beyond + 8 else 0 end) / sum(gpus) as low,
    100 * sum(beyond + 8 * least(beyond, large_gangs)) / sum(gpus) as high,
    count(*) as n
  from minutes
)

select
  'gpu_time_is_in_large_gangs' as claim,
  null::varchar as cluster,
  (low + high) / 2 as value,
  low,
  high,
  n
from limits
