-- materialized
-- What do attempts wait for: their virtual cluster's quota, or GPUs close enough together?
-- One row per (method, vc, gang, first, cause).
--   method  how the quota is known: given; p95, p99, peak: estimated (see vc_quotas); none
--   vc      virtual cluster; (none): not known
--   gang    gang-size bucket
--   first   true for first attempts, false for retries
--   cause   none, held, fair_share, fragmentation, start_up or unknown, as in study_causes
--   waits   attempts whose wait has this cause
--   time_s  seconds that passed for this cause, whatever the cause of the wait as a whole
--   full_s  seconds of fragmentation during which the pool had fewer free GPUs than the gang needs
with sums as (
  select
    method,
    coalesce(vc, '(none)') as vc,
    gang_bucket(gpus) as gang,
    first,
    cause,
    count(*) as waits,
    total(held_s) as held_s,
    total(fair_share_s) as fair_share_s,
    total(fragmentation_s) as fragmentation_s,
    total(full_s) as full_s,
    total(start_up_s) as start_up_s,
    total(unknown_s) as unknown_s
  from study_causes
  group by all
),

parts as (
  select
    *,
    unnest(['none', 'held', 'fair_share', 'fragmentation', 'start_up', 'unknown']) as part,
    unnest([0, held_s, fair_share_s, fragmentation_s, start_up_s, unknown_s]) as part_s
  from sums
)

select
  method,
  vc,
  gang,
  first,
  part as cause,
  coalesce(sum(waits) filter (where cause = part), 0)::bigint as waits,
  total(part_s) as time_s,
  total(case when part = 'fragmentation' then full_s end) as full_s
from parts
group by method, vc, gang, first, part
having waits > 0 or time_s > 0
order by all
