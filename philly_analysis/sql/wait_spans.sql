-- Why did each attempt wait: held, throttled, refused, or pending for its turn?
-- One row per attempt of the jobs in gpu_jobs that waited, from a known moment on, and is trusted:
-- until it started; until it was given up; or until the log ended.
--   job_id       job
--   attempt      which attempt, from 1
--   account      account
--   vc           virtual cluster or partition
--   user         who submitted it
--   gpus         gang size
--   outcome      started; given up: it ended without a start; waiting: it waited as the log ended
--   wait_s       seconds that it waited
--   held_s       of these, before it was eligible; all of it where it never started and what holds
--                a job was its last reason
--   throttled_s  the others, where a limit is the reason that was last recorded; before it was
--                eligible too, where that is its array's limit: a task beyond it is not eligible
--   refused_s    the others, where it asked for more than it may
--   pending_s    the others: for its turn, or for machines
--   reason       what the scheduler said that it waited for, last; null: nothing but turn and
--                machines
with unstarted as (
  select
    a.job_id,
    a.attempt,
    jobs.account,
    jobs.vc,
    jobs.user,
    jobs.gpus,
    case when a.ended_at is null then 'waiting' else 'given up' end as outcome,
    case
      when row_number() over in_order = 1 then jobs.submitted_at
      else lag(a.ended_at) over in_order
    end as since_at,
    coalesce(a.ended_at, snapshot.ended_at) as until_at,
    coalesce(a.eligible_at, jobs.eligible_at) as eligible_at,
    a.started_at,
    a.run_s,
    coalesce(a.flag, jobs.flag) as flag
  from attempts as a
  inner join gpu_jobs as jobs using (job_id)
  cross join snapshot
  window in_order as (partition by a.job_id order by a.attempt)
),

spans as (
  select
    w.job_id,
    w.attempt,
    jobs.account,
    w.vc,
    w.user,
    w.gpus,
    'started' as outcome,
    w.wait_s,
    w.held_s
  from trusted_waits as w
  inner join gpu_jobs as jobs using (job_id)
  union all by name
  select
    job_id,
    attempt,
    account,
    vc,
    "user",
    gpus,
    outcome,
    seconds_between(since_at, until_at) as wait_s,
    case
      when eligible_at > since_at then seconds_between(since_at, least(eligible_at, until_at))
      else 0
    end as held_s
  from unstarted
  -- an attempt without a start that is known to have run did not wait all the time
  where
    started_at is null and run_s is null and until_at >= since_at
    and flag is null and gpus is not null
),

reasons as (
  select
    given.wait_reason as reason,
    coalesce(min_by(r.state, r.place), 'pending') as state
  from (select distinct wait_reason from attempts) as given
  left join wait_reasons as r
    on regexp_full_match(given.wait_reason, r.pattern)
  group by all
),

told as (
  select
    spans.* exclude (held_s),
    reasons.reason,
    reasons.state,
    case
      when reason = 'JobArrayTaskLimit' then 0
      when state = 'held' and outcome <> 'started' then wait_s
      else held_s
    end as held_s
  from spans
  inner join attempts using (job_id, attempt)
  inner join reasons
    on attempts.wait_reason is not distinct from reasons.reason
)

select
  job_id,
  attempt,
  account,
  vc,
  "user",
  gpus,
  outcome,
  wait_s,
  held_s,
  case when state = 'throttled' then wait_s - held_s else 0 end as throttled_s,
  case when state = 'refused' then wait_s - held_s else 0 end as refused_s,
  case when state in ('held', 'pending') then wait_s - held_s else 0 end as pending_s,
  reason
from told
