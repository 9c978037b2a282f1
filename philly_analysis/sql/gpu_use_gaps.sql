-- materialized
-- What does the utilisation of allocated GPUs exclude, and why?
-- One row per reason.
--   what    what is counted: attempts, GPUs, GPU-minutes or servers
--   reason  why it is left out, or what is odd about it
--   n       how many
with reasons as (
  select
    'attempt' as what,
    'start or end not known' as reason,
    count(*) as n
  from (
    select distinct
      p.job_id,
      p.attempt
    from placements as p
    inner join attempts as a
      on p.job_id = a.job_id and p.attempt = a.attempt
    where a.started_at is null or a.ended_at is null
  ) as untimed
  union all
  select
    'attempt' as what,
    'not known which GPUs of a shared server it held' as reason,
    count(*) as n
  from (
    select distinct
      p.job_id,
      p.attempt
    from placements as p
    anti join indexed_gpus as g
      on p.job_id = g.job_id and p.attempt = g.attempt and p.machine_id = g.machine_id
  ) as unindexed
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
    count(*) as n
  from (
    select distinct s.machine_id
    from gpu_samples as s
    anti join placements as p
      on s.machine_id = p.machine_id
  ) as unplaced
  union all
  select
    'server' as what,
    'allocated, but never sampled' as reason,
    count(*) as n
  from (
    select distinct p.machine_id
    from placements as p
    anti join gpu_samples as s
      on p.machine_id = s.machine_id
  ) as unsampled
)

select
  what,
  reason,
  n::bigint as n
from reasons
where n > 0
