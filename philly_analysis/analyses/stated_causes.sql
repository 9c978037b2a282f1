-- Which causes does this log show while the scheduler stated a reason?
-- One row per method, stated reason and computed cause, of eligible time; the computation uses
-- limits, quotas and placements, and no stated reason of a time.
--   method      how the quota is known, as in wait_causes
--   stated      what the stated reason means: held, limit, quota, start_up, priority or resources
--   computed    limit, quota, too_few, fragmented, stranded or behind, as in wait_causes; room: the
--               job had room, and nothing waited before the job
--   wait_h      hours that attempts waited
--   gpu_wait_h  hours that attempts waited, times the GPUs waited for
with parts as (
  select
    p.method,
    case
      when r.cause <> 'pending' then r.cause
      when r.kind = 'order' then 'priority'
      else 'resources'
    end as stated,
    q.gpus,
    p.cap,
    unnest(['too_few', 'fragmented', 'stranded', 'behind', 'room']) as state,
    unnest([p.too_few_s, p.scattered_s, p.stranded_s, p.behind_s, p.room_s]) as wait_s
  from wait_parts as p
  inner join queued_attempts as q using (job_id, attempt)
  inner join stated_reasons as r
    on p.reason = r.reason
)

select
  method,
  stated,
  case when cap is null then state when cap = 'quota' then 'quota' else 'limit' end as computed,
  total(wait_s) / 3600 as wait_h,
  total(wait_s * gpus) / 3600 as gpu_wait_h
from parts
where wait_s > 0
group by all
order by all
