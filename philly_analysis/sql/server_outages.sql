-- When was a server out of service after it failed?
-- One row per server and moment at which an attempt ended by a failure of a server, and no attempt
-- held a GPU of the server any more.
--   machine_id  server
--   gpus        GPUs of the server
--   from_us     moment of the failure, as in machine_use
--   until_us    next start on the server, at most a day later, as in machine_use
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
    free_after,
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
where u.free_after = u.gpus and u.gpus > 0
