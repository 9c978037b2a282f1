-- by job_id
-- What held each attempt before its job was eligible?
-- One row per attempt, cause and name.
--   job_id   identifier of the job
--   attempt  number of the attempt within its job, from 1
--   cause    held; limit: a limit kept the job from being eligible
--   name     what held the job: dependency, begin time, hold, reservation, requeue (the scheduler's
--            own delay after an attempt) or not stated; or the limit, such as array task limit
--   held_s   seconds
with spans as (
  select
    s.job_id,
    s.attempt,
    s.cause,
    s.kind,
    s.reason,
    (least(s.until_us, q.eligible_us) - s.since_us) / 1e6 as held_s
  from queued_spans as s
  inner join queued_attempts as q using (job_id, attempt)
  where s.since_us < q.eligible_us and s.cause in ('held', 'limit')
),

stated as (
  select
    job_id,
    attempt,
    sum(held_s) as held_s
  from spans
  group by job_id, attempt
),

others as (
  select
    q.job_id,
    q.attempt,
    case
      when r.cause = 'held' then r.kind
      when
        r.kind = 'array'
        or regexp_replace(jobs.scheduler_id, '_.*$', '') in (from limited_arrays)
        then 'array'
      when not q.first then 'requeue'
      else 'not stated'
    end as kind,
    q.reason,
    q.held_s - coalesce(stated.held_s, 0) as held_s
  from queued_attempts as q
  inner join jobs using (job_id)
  left join stated using (job_id, attempt)
  left join stated_reasons as r
    on q.reason = r.reason
  where q.held_s > coalesce(stated.held_s, 0)
),

parts as (
  select
    job_id,
    attempt,
    cause,
    case when kind = 'begin time' and attempt > 1 then 'requeue' else kind end as kind,
    reason,
    held_s
  from spans
  union all by name
  select
    job_id,
    attempt,
    case when kind = 'array' then 'limit' else 'held' end as cause,
    case when kind = 'begin time' and attempt > 1 then 'requeue' else kind end as kind,
    reason,
    held_s
  from others
)

select
  p.job_id,
  p.attempt,
  p.cause,
  case
    when p.cause = 'held' then p.kind
    when p.kind = 'array' then limit_label(p.kind, null, null, null, null)
    else l.name
  end as name,
  sum(p.held_s) as held_s
from parts as p
left join stated_limits as l
  on p.job_id = l.job_id and p.reason = l.reason
group by all
