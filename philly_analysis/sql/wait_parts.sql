-- materialized by job_id
-- Which cap and which state of the pool kept each attempt waiting, by stated reason?
-- One row per method of knowing the quota, attempt, stated reason and cap, of eligible time.
--   method       how the quota is known, as in vc_quotas; none: no quota is known and no quota can
--                be estimated
--   job_id       identifier of the job
--   attempt      number of the attempt within its job, from 1
--   reason       reason that the scheduler stated meanwhile; null: none
--   cap          limit or quota that bound, as in cap_states; null: none
--   too_few_s    seconds in which the pool had fewer GPUs free than the gang
--   scattered_s  seconds in which enough GPUs were free, but not on the servers that the job asks
--                for
--   stranded_s   seconds in which the servers that the job asks for had enough GPUs free, but too
--                few CPUs or too little memory
--   behind_s     seconds with room, in which a job of higher order waited for room
--   room_s       seconds with room, in which no job of higher order waited for room
-- spans are numbered, so that what is sorted by moments need not carry names
with spans as materialized (
  select
    row_number() over () as span,
    *
  from (
    select
      job_id,
      attempt,
      null as reason,
      false as stated,
      wait_class,
      request,
      pool,
      eligible_us as since_us,
      until_us,
      least(ahead_us, until_us - t.usual_us) as ahead_us
    from queue_order
  cross join start_up_times as t
    where until_us > eligible_us
    union all
    select
      o.job_id,
      o.attempt,
      s.reason,
      true as stated,
      o.wait_class,
      o.request,
      o.pool,
      greatest(s.since_us, o.eligible_us) as since_us,
      least(s.until_us, o.until_us) as until_us,
      least(o.ahead_us, o.until_us - t.usual_us) as ahead_us
    from queue_order as o
    cross join start_up_times as t
    inner join queued_spans as s using (job_id, attempt)
    where least(s.until_us, o.until_us) > greatest(s.since_us, o.eligible_us)
  ) as eligible_spans
),

class_caps as (
  select distinct
    wait_class,
    method,
    cap
  from cap_states
),

-- requests of which a clock ever ran
clocked_requests as (
  select request
  from pool_clocks
  where no_room
  union
  select request
  from requests
  semi join queue_blockages using (pool)
),

clocked_spans as (
  select
    span,
    wait_class,
    request,
    pool,
    since_us,
    until_us,
    greatest(least(until_us, coalesce(ahead_us, since_us)), since_us) as ahead_until_us
  from spans
  where
    request in (from clocked_requests)
    or wait_class in (select wait_class from class_caps)
),

-- the moments at which clocks are read; clocks of jobs ahead stop early
ends as (
  select
    span,
    wait_class,
    request,
    pool,
    2 * since_us + 1 as moment,
    -1 as sign,
    case when ahead_until_us = since_us then 0 else -1 end as ahead_sign
  from clocked_spans
  union all
  select
    span,
    wait_class,
    request,
    pool,
    2 * until_us + 1 as moment,
    1 as sign,
    case when ahead_until_us = until_us then 1 else 0 end as ahead_sign
  from clocked_spans
  union all
  select
    span,
    wait_class,
    request,
    pool,
    2 * ahead_until_us + 1 as moment,
    0 as sign,
    1 as ahead_sign
  from clocked_spans
  where ahead_until_us > since_us and ahead_until_us < until_us
),

blockages as (
  select
    ends.*,
    reading(b.blocked_us, b.blocked, b.moment, ends.moment) as blocked_us
  from ends
  asof left join queue_blockages as b
    on ends.pool = b.pool and ends.moment >= b.moment
),

readings as (
  select
    e.span,
    e.wait_class,
    e.moment,
    e.sign,
    e.ahead_sign,
    reading(c.too_few_us, c.too_few, c.moment, e.moment) as too_few_us,
    reading(c.no_fit_us, c.no_fit, c.moment, e.moment) as no_fit_us,
    reading(c.no_room_us, c.no_room, c.moment, e.moment) as no_room_us,
    coalesce(c.queued_us + case when c.no_room then 0 else e.blocked_us - c.blocked_us end, 0)
      as queued_us
  from blockages as e
  asof left join pool_clocks as c
    on e.request = c.request and e.moment >= c.moment
),

bound as (
  select
    e.span,
    caps.method,
    caps.cap,
    sum(e.sign * reading(s.bound_us, s.binds, s.moment, e.moment)) as all_us,
    sum(e.sign * (
      s.bound_too_few_us + case when s.binds then e.too_few_us - s.too_few_us else 0 end
    )) as too_few_us,
    sum(e.sign * (
      s.bound_no_fit_us + case when s.binds then e.no_fit_us - s.no_fit_us else 0 end
    )) as no_fit_us,
    sum(e.sign * (
      s.bound_no_room_us + case when s.binds then e.no_room_us - s.no_room_us else 0 end
    )) as no_room_us,
    sum(e.ahead_sign * (
      s.bound_queued_us + case when s.binds then e.queued_us - s.queued_us else 0 end
    )) as behind_us
  from readings as e
  inner join class_caps as caps using (wait_class)
  asof inner join cap_states as s
    on
      caps.wait_class = s.wait_class
      and caps.method = s.method
      and caps.cap = s.cap
      and e.moment >= s.moment
  group by e.span, caps.method, caps.cap
  having all_us > 0
),

clocked as (
  select
    span,
    sum(sign * too_few_us) as too_few_us,
    sum(sign * no_fit_us) as no_fit_us,
    sum(sign * no_room_us) as no_room_us,
    sum(ahead_sign * queued_us) as behind_us
  from readings
  group by span
),

whole as (
  select
    spans.job_id,
    spans.attempt,
    spans.reason,
    spans.stated,
    spans.until_us - spans.since_us as all_us,
    coalesce(clocked.too_few_us, 0) as too_few_us,
    coalesce(clocked.no_fit_us, 0) as no_fit_us,
    coalesce(clocked.no_room_us, 0) as no_room_us,
    coalesce(clocked.behind_us, 0) as behind_us
  from spans
  left join clocked using (span)
),

-- what no cap explains is the whole, less each cap
parts as (
  select
    methods.method,
    null::varchar as cap,
    whole.*
  from whole
  cross join quota_methods as methods
  union all by name
  select
    methods.method,
    s.job_id,
    s.attempt,
    s.reason,
    s.stated,
    unnest([b.cap, null]) as cap,
    unnest([b.all_us, -b.all_us]) as all_us,
    unnest([b.too_few_us, -b.too_few_us]) as too_few_us,
    unnest([b.no_fit_us, -b.no_fit_us]) as no_fit_us,
    unnest([b.no_room_us, -b.no_room_us]) as no_room_us,
    unnest([b.behind_us, -b.behind_us]) as behind_us
  from bound as b
  inner join spans as s using (span)
  inner join quota_methods as methods
    on b.method = methods.method or b.method = 'limit'
),

-- what the scheduler stated is a part of the whole wait
by_reason as (
  select
    * exclude (reason, stated),
    unnest(case when stated then [reason, null] else [null] end) as reason,
    unnest(case when stated then [1, -1] else [1] end) as sign
  from parts
),

stated_parts as (
  select
    s.job_id,
    s.attempt,
    s.reason,
    s.until_us - greatest(s.since_us, q.until_us) as launch_us
  from queued_spans as s
  semi join stated_launches using (job_id, attempt)
  inner join queue_order as q
    on s.job_id = q.job_id and s.attempt = q.attempt and s.until_us > q.until_us
),

launch_parts as (
  from stated_parts
  union all by name
  select
    job_id,
    attempt,
    l.launch_us - coalesce(sum(p.launch_us), 0) as launch_us
  from launches as l
  semi join queue_order using (job_id, attempt)
  left join stated_parts as p using (job_id, attempt)
  group by job_id, attempt, l.launch_us
),

launching as (
  select
    methods.method,
    null::varchar as cap,
    l.job_id,
    l.attempt,
    l.reason,
    1 as sign,
    l.launch_us as all_us,
    0 as too_few_us,
    0 as no_fit_us,
    0 as no_room_us,
    0 as behind_us
  from launch_parts as l
  cross join quota_methods as methods
  where l.launch_us > 0
),

every_part as (
  from by_reason
  union all by name
  from launching
)

select
  method,
  job_id,
  attempt,
  reason,
  cap,
  sum(sign * too_few_us) / 1e6 as too_few_s,
  sum(sign * (no_fit_us - too_few_us)) / 1e6 as scattered_s,
  sum(sign * (no_room_us - no_fit_us)) / 1e6 as stranded_s,
  sum(sign * behind_us) / 1e6 as behind_s,
  sum(sign * (all_us - no_room_us - behind_us)) / 1e6 as room_s
from every_part
group by method, job_id, attempt, reason, cap
having sum(sign * all_us) > 0
