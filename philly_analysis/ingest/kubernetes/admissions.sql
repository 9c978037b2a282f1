-- materialized
-- When did each admission of a Workload begin and end?
-- One row per admission that a snapshot showed. An admission without an end in any snapshot, and
-- with a later admission, counts until the last snapshot that showed it.
with states as (
  select *
  from kubernetes_workloads
  where fault is null
),

granted as (
  select
    life,
    uid,
    admitted_s,
    coalesce(max(reserved_s) filter (reserved_s <= admitted_s), admitted_s) as reserved_s,
    min(ready_s) filter (ready_s >= admitted_s) as ready_s,
    max_by(gpus, last_s) as gpus,
    max_by(hosts, last_s) as hosts,
    max_by(host_gpus, last_s) as host_gpus,
    max(last_s) as seen_s,
    max_by(source_file, last_s) as source_file,
    max_by(source_line, last_s) as source_line
  from states
  where admitted_s is not null
  group by life, uid, admitted_s
),

ordered as (
  select
    *,
    lead(admitted_s) over (partition by uid order by admitted_s) as next_s
  from granted
),

evictions as (
  select
    uid,
    evicted_s,
    any_value(evict_reason) as evict_reason
  from states
  where evicted_s is not null
  group by uid, evicted_s
),

evicted as (
  select
    o.uid,
    o.admitted_s,
    min(e.evicted_s) as evicted_s,
    min_by(e.evict_reason, e.evicted_s) as evict_reason
  from ordered as o
  inner join evictions as e
    on
      o.uid = e.uid
      and o.admitted_s < e.evicted_s
      and coalesce(o.next_s >= e.evicted_s, true)
  group by o.uid, o.admitted_s
),

finished as (
  select
    uid,
    max(finished_s) as finished_s,
    any_value(finish_reason) as finish_reason
  from states
  where finished_s is not null
  group by uid
),

requeued as (
  select
    o.uid,
    o.admitted_s,
    max(s.requeued_s) as requeued_s
  from ordered as o
  inner join states as s
    on o.uid = s.uid and o.admitted_s >= s.requeued_s
  group by o.uid, o.admitted_s
),

bounded as (
  select
    o.*,
    case
      when evicted.evicted_s is not null then evicted.evicted_s
      when o.next_s is not null then o.seen_s
      when finished.finished_s >= o.admitted_s then finished.finished_s
    end as ended_s,
    case
      when evicted.evicted_s is not null then evicted.evict_reason
      when o.next_s is null and finished.finished_s >= o.admitted_s then finished.finish_reason
    end as end_reason,
    evicted.evicted_s is null and o.next_s is not null as end_missing,
    requeued.requeued_s
  from ordered as o
  left join evicted using (uid, admitted_s)
  left join requeued using (uid, admitted_s)
  left join finished using (uid)
)

select
  *,
  case when ready_s <= coalesce(ended_s, ready_s) then ready_s else admitted_s end as started_s,
  row_number() over (partition by life order by admitted_s, uid) as attempt
from bounded
