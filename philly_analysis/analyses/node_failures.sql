-- materialized
-- For how many days was each server in use?
-- One row per server with GPUs allocated to an attempt with trusted times.
--   machine_id  identifier of the server
--   attempts    attempts with GPUs of the server
--   days_held   days in total during which an attempt had GPUs of the server
with held_intervals as (
  select
    machine_id,
    started_at,
    until_at,
    max(until_at) over (
      partition by machine_id
      order by started_at, until_at
      rows between unbounded preceding and 1 preceding
    ) as reached_at
  from held_servers
)

select
  machine_id,
  count(*) as attempts,
  sum(greatest(seconds_between(greatest(started_at, reached_at), until_at), 0)) / 86400
    as days_held
from held_intervals
group by machine_id
order by all
