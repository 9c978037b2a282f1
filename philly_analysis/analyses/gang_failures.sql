-- For how many days did gangs run, by number of servers?
-- One row per number of servers.
--   servers    servers of the attempt
--   attempts   attempts
--   gang_days  total days that the attempts ran
select
  servers,
  count(*) as attempts,
  total(seconds_between(started_at, until_at)) / 86400 as gang_days
from (
  select distinct
    job_id,
    attempt,
    servers,
    started_at,
    until_at
  from held_servers
) as gangs
group by servers
order by all
