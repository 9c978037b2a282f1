-- materialized
-- Which attempts does each job have, including attempts that still wait?
-- One row per attempt. An attempt without a start waits, or was deleted before it ran.
with last_snapshots as (
  select
    max(taken_s) filter (kind = 'Workload') as workloads_s,
    max(taken_s) filter (kind = 'Pod' or kind = 'Job') as pods_s,
    max(taken_s) filter (kind = 'kubernetes_owners') as owners_s
  from kubernetes_snapshots
  where complete
),

counts as (
  select
    life,
    max(attempt) as attempts
  from admissions
  group by life
),

waiting as (
  select
    w.life,
    coalesce(counts.attempts, 0) + 1 as attempt,
    w.gpus,
    w.source_file,
    w.source_line
  from latest_workloads as w
  left join counts using (life)
  where
    w.admitted_s is null
    and (counts.attempts is null or (w.finished_s is null and w.active))
),

all_runs as (
  select
    life,
    attempt,
    admitted_s,
    started_s,
    ended_s,
    gpus,
    end_reason,
    null::integer as exit_code,
    case when attempt > 1 then requeued_s end as eligible_s,
    source_file,
    source_line
  from admissions
  union all by name
  select
    life,
    attempt,
    gpus,
    source_file,
    source_line
  from waiting
  union all by name
  select
    life,
    1 as attempt,
    started_s as admitted_s,
    started_s,
    ended_s,
    gpus,
    case when started_s is not null then end_reason end as end_reason,
    case when started_s is not null then exit_code end as exit_code,
    source_file,
    source_line
  from plain_runs
)

select
  r.*,
  lives.job_id,
  coalesce(
    r.ended_s is null and case
      when w.life is not null then w.finished_s is null and w.last_s < last_snapshots.workloads_s
      else
        p.status is null
        and coalesce(p.pods_last_s < last_snapshots.pods_s, true)
        and coalesce(p.owner_last_s < last_snapshots.owners_s, true)
    end,
    false
  ) as deleted
from all_runs as r
inner join lives using (life)
left join latest_workloads as w using (life)
left join plain_runs as p using (life)
cross join last_snapshots
