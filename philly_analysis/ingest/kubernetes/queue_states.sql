-- Which reasons did Kueue state for which a job was pending, and when?
-- One row per job and span of one reason. Between two snapshots with different reasons, the first
-- one stands until halfway. A reason holds from the moment at which QuotaReserved became False, and
-- ends with the reservation of the quota. Admission checks and the start of pods have exact times.
-- Pending and NoReservation state no cause: these spans are left out.
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
    w.pending_s,
    w.reserved_s,
    w.first_s,
    w.last_s,
    b.before_s,
    a.after_s,
    lag(w.last_s) over in_order = b.before_s as continues,
    lead(w.first_s) over in_order = a.after_s as continued
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
  window in_order as (partition by w.uid order by w.first_s)
),

next_reservations as (
  select
    p.uid,
    p.first_s,
    min(a.reserved_s) as reserved_s
  from pending as p
  inner join admissions as a
    on p.uid = a.uid and p.last_s <= a.reserved_s
  group by p.uid, p.first_s
),

ranges as (
  select
    p.life,
    p.reason,
    case
      when p.reserved_s is not null then p.reserved_s
      when p.continues then (p.before_s + p.first_s) / 2
      else coalesce(p.pending_s, greatest((p.before_s + p.first_s) / 2, p.created_s))
    end as since_s,
    case
      when p.continued then (p.after_s + p.last_s) / 2
      when n.reserved_s <= p.after_s then n.reserved_s
      else coalesce((p.after_s + p.last_s) / 2, p.last_s)
    end as until_s
  from pending as p
  left join next_reservations as n using (uid, first_s)
  -- the times of an admission that a snapshot showed are exact
  anti join admissions as a
    on p.uid = a.uid and p.reserved_s = a.reserved_s
),

reasons as (
  select *
  from ranges
  where reason not in ('Pending', 'NoReservation')
  union all
  select
    life,
    unnest(['UnsatisfiedAdmissionChecks', 'WaitForStart']) as reason,
    unnest([reserved_s, admitted_s]) as since_s,
    unnest([admitted_s, started_s]) as until_s
  from admissions
),

spans as (
  select
    lives.job_id,
    r.reason,
    -- spans of one job do not overlap
    greatest(
      r.since_s, max(r.until_s) over (
        partition by r.life
        order by r.since_s, r.until_s
        rows between unbounded preceding and 1 preceding
      )
    ) as since_s,
    r.until_s
  from reasons as r
  inner join lives using (life)
  where r.until_s > r.since_s
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
