-- by moment
-- When was a server out of service?
-- One row per server and span. A span is a recorded closure, or begins with a failure. At a
-- failure, an attempt ended by a failure of a server, and no attempt held a GPU of the server any
-- more.
--   machine_id  identifier of the server
--   gpus        GPUs of the server
--   from_us     start of the span in doubled microseconds since 1970, as in machine_use
--   until_us    end of the closure, or of the log, in doubled microseconds since 1970; after a
--               failure, the next start on the server, at most a day later
with failures as (
  select distinct
    p.machine_id,
    2 * epoch_us(a.ended_at) as moment
  from attempts as a
  inner join placements as p using (job_id, attempt)
  where a.end_reason = 'node_failure' and a.ended_at is not null
),

next_changes as (
  select
    machine_id,
    moment,
    gpus,
    open_after,
    lead(moment) over (partition by machine_id order by moment) as next_moment
  from machine_use
)

select
  u.machine_id,
  u.gpus,
  u.moment as from_us,
  least(u.next_moment, u.moment + 172800000000) as until_us
from next_changes as u
semi join failures as f
  on u.machine_id = f.machine_id and u.moment = f.moment
where u.open_after = u.gpus and u.gpus > 0
union all
select
  m.machine_id,
  m.gpus,
  2 * epoch_us(c.since_at) as from_us,
  2 * epoch_us(coalesce(c.until_at, greatest(snapshot.ended_at, c.since_at))) as until_us
from given_server_closures as c
inner join machines as m using (machine_id)
semi join used_machines
  on c.machine_id = used_machines.machine_id
cross join snapshot
