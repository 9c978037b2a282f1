-- Which reasons did Slurm state for which a job was pending, and when?
-- One row per job and span of one reason. A print of the queue stands until halfway to the next
-- print.
with tasks as (
  select
    job_id,
    attempt,
    cluster,
    split_part(scheduler_id, '_', 1) as array_id,
    try_cast(split_part(scheduler_id, '_', 2) as bigint) as task
  from records
  where reject is null and contains(scheduler_id, '_')
),

waiting as (
  select
    p.*,
    spans.since_at,
    spans.until_at
  from pending_readings as p
  inner join print_spans as spans
    on p.taken_at = spans.taken_at and p.cluster is not distinct from spans.cluster
  where p.state = 'PENDING'
),

named as (
  -- a job is named by its number, unless the print has several tasks of an array
  select
    w.*,
    r.job_id,
    r.attempt
  from waiting as w
  inner join records as r
    on w.id = r.id
  where
    r.reject is null
    and r.cluster is not distinct from w.cluster
    and (w.tasks is null or not contains(r.scheduler_id, '_'))
  union all by name
  select
    w.*,
    tasks.job_id,
    tasks.attempt
  from waiting as w
  inner join task_ranges as ranges using (tasks)
  inner join tasks
    on
      w.array_id = tasks.array_id
      and w.cluster is not distinct from tasks.cluster
      and tasks.task between ranges.first and ranges.last
      and (tasks.task - ranges.first) % ranges.step = 0
),

-- of several submissions of a number, the last before the print
matched as (
  select
    named.job_id,
    r.submitted_at,
    coalesce(r.started_at, r.ended_at) as left_at,
    named.reason,
    named.taken_at,
    named.since_at,
    named.until_at
  from named
  inner join records as r
    on named.job_id = r.job_id and named.attempt = r.attempt and r.reject is null
  where
    r.submitted_at <= named.taken_at
    and named.taken_at <= coalesce(left_at, named.taken_at) + interval 1 second
  qualify row_number() over (
    partition by named.job_id, named.taken_at order by r.submitted_at desc, r.attempt desc
  ) = 1
),

spans as (
  select
    job_id,
    reason,
    greatest(since_at, submitted_at) as since_at,
    least(until_at, left_at) as until_at
  from matched
),

changes as (
  select
    *,
    coalesce(
      reason <> lag(reason) over in_order
      or since_at > lag(until_at) over in_order,
      true
    )::integer as begins
  from spans
  where until_at > since_at
  window in_order as (partition by job_id order by since_at)
),

numbered as (
  select
    *,
    sum(begins) over (partition by job_id order by since_at) as span
  from changes
)

select
  job_id,
  min(since_at) as since_at,
  max(until_at) as until_at,
  any_value(reason) as reason,
  'prints of the queue' as source_file,
  null::bigint as source_line,
  'queue' as raw,
  null::varchar as reject
from numbered
group by job_id, span
