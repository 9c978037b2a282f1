-- For how many days did gangs run, by number of servers?
-- One row per number of servers.
--   servers    servers of the attempt
--   attempts   attempts
--   gang_days  total days that the attempts ran
select
  servers,
  -- each attempt has as many rows as servers
  count(*) // servers as attempts,
  total(seconds_between(started_at, until_at)) / servers / 86400 as gang_days
from held_servers
group by servers
order by all
