-- For how long was each server in use?
-- One row per server of which an attempt with trusted times had GPUs.
--   machine_id  server
--   attempts    attempts with GPUs of it
--   days_held   days on which one attempt or more had GPUs of it
with reaches as (
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
from reaches
group by machine_id
order by all
