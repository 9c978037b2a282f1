-- materialized by job_id
-- Which servers did each attempt hold, and for how long?
-- One row per attempt with trusted times and server.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   machine_id  identifier of the server
--   servers     servers of the attempt
--   gpus        GPUs of the attempt on all of its servers
--   started_at  start of the attempt
--   until_at    end of the attempt; for a running attempt the end of the log
--   first_s     seconds during which no attempt that started before had GPUs of the server
--   alike_s     the same, compared with attempts on the same number of servers
with held as (
  select
    p.job_id,
    p.attempt,
    p.machine_id,
    count(*) over (partition by p.job_id, p.attempt) as servers,
    runs.gpus,
    runs.started_at,
    runs.until_at
  from placed_servers as p
  inner join attempt_runs as runs using (job_id, attempt)
  where runs.until_at >= runs.started_at and runs.flag is null
),

reached as (
  select
    *,
    max(until_at) over before as reached_at,
    max(until_at) over before_alike as alike_at
  from held
  window
    before as (
      partition by machine_id
      order by started_at, until_at, job_id, attempt
      rows between unbounded preceding and 1 preceding
    ),
    before_alike as (
      partition by machine_id, servers
      order by started_at, until_at, job_id, attempt
      rows between unbounded preceding and 1 preceding
    )
)

select
  * exclude (reached_at, alike_at),
  greatest(seconds_between(greatest(started_at, reached_at), until_at), 0) as first_s,
  greatest(seconds_between(greatest(started_at, alike_at), until_at), 0) as alike_s
from reached
