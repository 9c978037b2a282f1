-- Which reasons did Kueue state for which a job was pending, and when?
-- One row per job and span of one reason. A snapshot stands until halfway to the next snapshot.
with moments as (
  select
    taken_s,
    lag(taken_s) over (order by taken_s) as before_s,
    lead(taken_s) over (order by taken_s) as after_s
  from kubernetes_snapshots
  where kind = 'Workload'
  group by taken_s
),

pending as (
  select
    w.life,
    w.uid,
    w.created_s,
    w.pending_reason as reason,
    w.first_s,
    w.last_s,
    coalesce((b.before_s + w.first_s) / 2, w.first_s) as since_s,
    coalesce((a.after_s + w.last_s) / 2, w.last_s) as until_s
  from kubernetes_workloads as w
  inner join moments as b
    on w.first_s = b.taken_s
  inner join moments as a
    on w.last_s = a.taken_s
  where
    w.fault is null
    and w.pending_reason is not null
    and w.admitted_s is null
    and w.finished_s is null
),

-- a reason holds neither before the end of the earlier attempt nor after the next admission
bounds as (
  select
    p.uid,
    p.first_s,
    max(a.ended_s) filter (a.ended_s <= p.last_s) as earlier_end_s,
    min(a.admitted_s) filter (a.admitted_s >= p.last_s) as admitted_s
  from pending as p
  inner join admissions as a using (uid)
  group by p.uid, p.first_s
),

spans as (
  select
    lives.job_id,
    p.reason,
    greatest(p.since_s, p.created_s, bounds.earlier_end_s) as since_s,
    least(p.until_s, bounds.admitted_s) as until_s
  from pending as p
  inner join lives using (life)
  left join bounds using (uid, first_s)
),

changes as (
  select
    *,
    coalesce(
      reason <> lag(reason) over in_order or since_s > lag(until_s) over in_order, true
    )::integer as begins
  from spans
  where until_s > since_s
  window in_order as (partition by job_id order by since_s)
),

numbered as (
  select
    *,
    sum(begins) over (partition by job_id order by since_s) as span
  from changes
)

select
  job_id,
  moment(min(since_s)) as since_at,
  moment(max(until_s)) as until_at,
  any_value(reason) as reason,
  'snapshots of Workloads' as source_file,
  null::bigint as source_line,
  'queue' as raw,
  null::varchar as reject
from numbered
group by job_id, span
