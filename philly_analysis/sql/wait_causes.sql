-- materialized by job_id
-- Why did each attempt wait?
-- One row per method of knowing the quota, attempt, cause and name; the seconds of an attempt add
-- up to its wait.
--   method   how the quota is known, as in vc_quotas; none: no quota is known and no quota can be
--            estimated
--   job_id   identifier of the job
--   attempt  number of the attempt within its job, from 1
--   cause    the first cause that applies: held: not eligible; limit: at a limit that an
--            administrator set; quota: the virtual cluster would have exceeded its quota; too_few:
--            the pool had fewer GPUs free than the gang; fragmented: enough GPUs were free, but not
--            on the servers that the job asks for; stranded: the servers that the job asks for had
--            enough GPUs free, but too few CPUs or too little memory; behind: there was room, and a
--            job of higher order waited; start_up: nothing waited ahead, and the seconds are no
--            more than start_up_limits; unknown: the log does not explain the wait
--   name     what held the job, as in held_causes; or name of the limit; null: another cause
--   wait_s   seconds that passed for this cause
with queued as (
  select
    q.job_id,
    q.attempt,
    q.outcome,
    q.vc,
    l.name as last_limit
  from queued_attempts as q
  left join stated_limits as l
    on q.job_id = l.job_id and q.reason = l.reason
),

-- what binds first: the scheduler's own statement, then limits, then the quota
bound as (
  select
    p.*,
    q.outcome,
    q.last_limit,
    case
      when stated.cause in ('held', 'limit', 'quota', 'start_up') then stated.cause
      when p.cap = 'quota' and e.shown then 'quota'
      when p.cap <> 'quota' and p.reason is null then 'limit'
    end as bound_cause,
    stated.kind as stated_kind,
    case
      when bound_cause = 'held' then stated.kind
      when bound_cause = 'limit' and p.cap <> 'quota' then p.cap
      when bound_cause = 'limit' then l.name
    end as name
  from wait_parts as p
  inner join queued as q using (job_id, attempt)
  left join stated_reasons as stated
    on p.reason = stated.reason
  left join stated_limits as l
    on p.job_id = l.job_id and p.reason = l.reason
  left join quota_evidence as e
    on p.method = e.method and q.vc is not distinct from e.vc
),

open_parts as (
  select
    method,
    job_id,
    attempt,
    outcome,
    last_limit,
    sum(too_few_s) + coalesce(sum(room_s) filter (where stated_short), 0) as too_few_s,
    sum(scattered_s) + coalesce(sum(room_s) filter (where stated_kind = 'topology'), 0)
      as scattered_s,
    sum(stranded_s) as stranded_s,
    sum(behind_s) + coalesce(sum(room_s) filter (where stated_kind = 'order'), 0) as behind_s,
    coalesce(sum(room_s) filter (where reason is null), 0) as room_s
  from (
    select
      *,
      reason is not null and coalesce(stated_kind not in ('order', 'topology'), true)
        as stated_short
    from bound
    where bound_cause is null
  ) as unbound
  group by all
),

pool_causes as (
  select
    o.method,
    o.job_id,
    o.attempt,
    unnest([
      'too_few',
      'fragmented',
      'stranded',
      'behind',
      case
        when o.last_limit is not null then 'limit'
        when o.outcome = 'started' and o.room_s <= l.longest_s then 'start_up'
        else 'unknown'
      end
    ]) as cause,
    unnest([null, null, null, null, o.last_limit]) as name,
    unnest([o.too_few_s, o.scattered_s, o.stranded_s, o.behind_s, o.room_s]) as wait_s
  from open_parts as o
  left join start_up_limits as l using (method)
),

every_part as (
  select
    method,
    job_id,
    attempt,
    bound_cause as cause,
    name,
    too_few_s + scattered_s + stranded_s + behind_s + room_s as wait_s
  from bound
  where bound_cause is not null
  union all by name
  from pool_causes
  union all by name
  select
    methods.method,
    h.job_id,
    h.attempt,
    h.cause,
    h.name,
    h.held_s as wait_s
  from held_causes as h
  cross join quota_methods as methods
  union all by name
  -- no server of the pool is known
  select
    methods.method,
    u.job_id,
    u.attempt,
    case u.cause when 'pending' then 'unknown' else u.cause end as cause,
    u.name,
    u.wait_s
  from wait_causes_unplaced as u
  cross join quota_methods as methods
  anti join job_requests as r
    on u.job_id = r.job_id
  anti join held_causes as h
    on u.job_id = h.job_id and u.attempt = h.attempt and u.cause = h.cause
)

select
  method,
  job_id,
  attempt,
  cause,
  name,
  sum(wait_s) as wait_s
from every_part
where wait_s > 0
group by method, job_id, attempt, cause, name
