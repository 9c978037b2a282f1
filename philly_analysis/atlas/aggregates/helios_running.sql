-- How much GPU time is in gangs of more than eight GPUs?
-- One row. A minute has the GPUs and the number of gangs of at least eight: GPUs beyond eight for
-- each are of larger gangs, of at least one and at most as many as there are.
--   claim    claim
--   cluster  null: the caller's
--   value    middle of the limits, %
--   low      share in allocated GPU time if the larger gangs are as few as they can be
--   high     the same if they are as many as they can be
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
