-- by job_id
-- Why did each attempt wait, by what the scheduler stated?
-- One row per attempt, cause and name; the seconds of an attempt add up to its wait.
--   method   none: no quota is tested
--   job_id   identifier of the job
--   attempt  number of the attempt within its job, from 1
--   cause    held, limit, quota or start_up, as in wait_causes; pending: the job waits for
--            priority or resources; unknown: the log has neither reasons nor times at which jobs
--            became eligible
--   name     what held the job, or name of the limit, as in wait_causes; null: another cause
--   wait_s   seconds that passed for this cause. Eligible seconds without a stated reason count for
--            the last recorded reason
with spans as (
  select
    s.job_id,
    s.attempt,
    s.reason,
    (s.until_us - greatest(s.since_us, q.eligible_us)) / 1e6 as wait_s
  from queued_spans as s
  inner join queued_attempts as q using (job_id, attempt)
  where s.until_us > q.eligible_us
),

stated as (
  select
    job_id,
    attempt,
    sum(wait_s) as wait_s
  from spans
  group by job_id, attempt
),

eligible as (
  from spans
  union all by name
  select
    q.job_id,
    q.attempt,
    case when q.cause <> 'held' then q.reason end as reason,
    q.wait_s - q.held_s - coalesce(stated.wait_s, 0) as wait_s
  from queued_attempts as q
  left join stated using (job_id, attempt)
),

parts as (
  select
    e.job_id,
    e.attempt,
    case
      when r.cause in ('held', 'limit', 'quota', 'start_up') then r.cause
      when stated_waits.recorded or e.reason is not null then 'pending'
      else 'unknown'
    end as cause,
    case
      when r.cause = 'held' then r.kind
      when r.cause = 'limit' then l.name
    end as name,
    e.wait_s
  from eligible as e
  cross join stated_waits
  left join stated_reasons as r
    on e.reason = r.reason
  left join stated_limits as l
    on e.job_id = l.job_id and e.reason = l.reason
  union all
  select
    job_id,
    attempt,
    cause,
    name,
    held_s as wait_s
  from held_causes
)

select
  'none' as method,
  job_id,
  attempt,
  cause,
  name,
  sum(wait_s) as wait_s
from parts
where wait_s > 0
group by job_id, attempt, cause, name
