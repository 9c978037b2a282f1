-- materialized by job_id
-- Was each wait fair-share or fragmentation delay, as the study defines these two?
-- One row per method of knowing the quota and attempt that started after a trusted wait.
--   method           how the quota is known, as in wait_causes
--   job_id           identifier of the job
--   attempt          number of the attempt within its job, from 1
--   vc               virtual cluster
--   gpus             gang size
--   first            true for the first attempt, false for a retry
--   wait_s           seconds waited
--   held_s           seconds of the cause held
--   fair_share_s     seconds of the causes limit and quota
--   fragmentation_s  seconds of the causes too_few and fragmented
--   full_s           seconds of the cause too_few
--   start_up_s       seconds of the cause start_up
--   unknown_s        seconds of the causes stranded, behind and unknown, which the study does not
--                    have
--   cause            none: the attempt did not wait; unknown: more than half of the wait is
--                    unknown; otherwise the longest of held, fair_share, fragmentation and start_up
with sums as (
  select
    method,
    job_id,
    attempt,
    coalesce(sum(wait_s) filter (where cause = 'held'), 0) as held_s,
    coalesce(sum(wait_s) filter (where cause in ('limit', 'quota')), 0) as fair_share_s,
    coalesce(sum(wait_s) filter (where cause in ('too_few', 'fragmented')), 0) as fragmentation_s,
    coalesce(sum(wait_s) filter (where cause = 'too_few'), 0) as full_s,
    coalesce(sum(wait_s) filter (where cause = 'start_up'), 0) as start_up_s,
    coalesce(sum(wait_s) filter (where cause in ('stranded', 'behind', 'unknown')), 0)
      as unknown_s
  from wait_causes
  group by method, job_id, attempt
),

parts as (
  select
    methods.method,
    q.job_id,
    q.attempt,
    q.vc,
    q.gpus,
    q.first,
    q.wait_s,
    coalesce(sums.held_s, 0) as held_s,
    coalesce(sums.fair_share_s, 0) as fair_share_s,
    coalesce(sums.fragmentation_s, 0) as fragmentation_s,
    coalesce(sums.full_s, 0) as full_s,
    coalesce(sums.start_up_s, 0) as start_up_s,
    coalesce(sums.unknown_s, 0) as unknown_s
  from queued_attempts as q
  cross join quota_methods as methods
  left join sums
    on methods.method = sums.method and q.job_id = sums.job_id and q.attempt = sums.attempt
  where q.outcome = 'started'
)

select
  *,
  case
    when wait_s = 0 then 'none'
    when unknown_s > wait_s / 2 then 'unknown'
    when held_s >= greatest(fair_share_s, fragmentation_s, start_up_s) then 'held'
    when start_up_s >= greatest(fair_share_s, fragmentation_s) then 'start_up'
    when fair_share_s >= fragmentation_s then 'fair_share'
    else 'fragmentation'
  end as cause
from parts
