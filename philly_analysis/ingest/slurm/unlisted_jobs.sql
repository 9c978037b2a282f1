-- materialized
-- Which jobs do prints of the queue have and sacct lacks? sacct omits jobs that never became
-- eligible, unless all states are requested, and jobs cancelled in some states.
-- One row per submission, with the columns of sacct. The job ended at the latest at the first print
-- without the job.
with ids as (
  select distinct
    cluster,
    coalesce(
      regexp_extract(jobidraw, '^[0-9]+$'), regexp_extract(jobid, '^([0-9]+)(?:_\[.*)?$', 1)
    ) as id
  from sacct
  where id in (select p.id from pending_readings as p)
  union
  -- the array of a task
  select distinct
    cluster,
    regexp_extract(jobid, '^([0-9]+)_', 1) as id
  from sacct
  where id in (select p.id from pending_readings as p)
),

latest as (
  select p.*
  from pending_readings as p
  anti join ids
    on p.id = ids.id and coalesce(p.cluster = ids.cluster, true)
  where p.submitted_at is not null
  qualify row_number() over (
    partition by p.cluster, p.id, p.submitted_at order by p.taken_at desc, p.source_file desc
  ) = 1
)

select
  l.source_file,
  l.cluster,
  l.id as jobidraw,
  case
    when l.member is not null then l.leader_id || '+' || l.member
    when l.tasks is not null then l.array_id || '_[' || l.tasks || ']'
    else l.id
  end as jobid,
  l."partition",
  l.qos,
  l.account,
  l.user,
  l.uid,
  -- how a job ended that was pending in its last print is unknown
  if(l.state = 'PENDING' and spans.next_at is not null, null, l.state) as state,
  strftime(l.submitted_at, '%Y-%m-%dT%H:%M:%S') as submit,
  strftime(l.eligible_at, '%Y-%m-%dT%H:%M:%S') as eligible,
  strftime(if(l.state = 'PENDING', spans.next_at, l.ended_at), '%Y-%m-%dT%H:%M:%S') as "end",
  l.timelimit,
  l.tres as reqtres,
  l.reason,
  'job ' || l.id || ' in a print of the queue: ' || l.state as raw
from latest as l
inner join print_spans as spans
  on l.taken_at = spans.taken_at and l.cluster is not distinct from spans.cluster
