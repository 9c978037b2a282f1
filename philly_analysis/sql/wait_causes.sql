-- Why did each attempt wait?
-- One row per method of knowing the quota and attempt with a trusted wait of a known gang.
--   method           as in vc_quotas; none: no quota is known and none can be estimated
--   job_id           job
--   attempt          which attempt, from 1
--   vc               virtual cluster
--   gpus             gang size
--   first            true for the first attempt, false for a retry
--   wait_s           seconds waited
--   held_s           of these, before the job was eligible
--   fair_share_s     of these, while its GPUs would have put its virtual cluster over its quota
--   fragmentation_s  of these, within quota, while the gang did not fit on the fewest machines of
--                    its pool that can hold it
--   full_s           of the last, while the pool had fewer GPUs free than the gang at all
--   start_up_s       of these, if there was room within the quota during all of them, and they are
--                    not longer than start_up_limits
--   unknown_s        of these, while nothing of this applied: the cause is not in the log
--   cause            none: it did not wait; unknown: for more than half of the wait nothing is
--                    known; otherwise the longest of held, fair_share, fragmentation and start_up
with parts as (
  select
    p.* exclude (unexplained_s),
    case
      when
        p.fair_share_s = 0
        and p.fragmentation_s = 0
        and p.unexplained_s > 0
        and p.unexplained_s <= l.longest_s
        then p.unexplained_s
      else 0
    end as start_up_s,
    p.unexplained_s - start_up_s as unknown_s
  from wait_parts as p
  left join start_up_limits as l using (method)
)

select
  *,
  case
    when wait_s = 0 then 'none'
    when unknown_s > wait_s / 2 then 'unknown'
    when held_s >= greatest(fair_share_s, fragmentation_s, start_up_s) then 'held'
    when start_up_s > 0 then 'start_up'
    when fair_share_s >= fragmentation_s then 'fair_share'
    else 'fragmentation'
  end as cause
from parts
