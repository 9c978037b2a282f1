-- For how long was each server in use?
-- One row per server that an attempt with trusted times held.
--   machine_id  server
--   attempts    attempts that held it
--   days_held   days on which it was held, by one attempt or more at once
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
