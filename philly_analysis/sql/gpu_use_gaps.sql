-- materialized
-- Which GPUs and readings does the utilisation of allocated GPUs exclude, and why?
-- One row per reason.
--   what    unit of the count: attempt, placement, GPU-minute or server
--   reason  reason of the exclusion, or the irregularity
--   n       number of attempts, placements, GPU-minutes or servers
with excluded_rows as (
  select
    'attempt' as what,
    'start or end not known' as reason,
    count(distinct row(job_id, attempt)) as n
  from placements
  inner join attempts using (job_id, attempt)
  where started_at is null or ended_at is null
  union all
  select
    'attempt' as what,
    'not known which GPUs of a shared server it held' as reason,
    count(distinct row(job_id, attempt)) as n
  from placements
  anti join indexed_gpus using (job_id, attempt, machine_id)
  union all
  select
    'attempt' as what,
    'no GPU sampled during the run' as reason,
    count(*) as n
  from attempt_use
  where minutes = 0 and shared_gpus = 0
  union all
  select
    'placement' as what,
    'ambiguous, as another attempt held the same GPU' as reason,
    count(*) as n
  from placed_gpus
  where attribution = 'gpu_shared'
  union all
  select
    'GPU-minute' as what,
    'offline (the server reported, the GPU did not)' as reason,
    coalesce(round(sum(offline_min)), 0) as n
  from attempt_use
  union all
  select
    'GPU-minute' as what,
    'never sampled' as reason,
    coalesce(round(sum(expected_min - minutes - offline_min)), 0) as n
  from attempt_use
  union all
  select
    'server' as what,
    'sampled, but its GPUs were never allocated' as reason,
    count(distinct machine_id) as n
  from gpu_samples
  anti join placements using (machine_id)
  union all
  select
    'server' as what,
    'allocated, but never sampled' as reason,
    count(distinct machine_id) as n
  from placements
  anti join gpu_samples using (machine_id)
)

select
  what,
  reason,
  n::bigint as n
from excluded_rows
where n > 0
