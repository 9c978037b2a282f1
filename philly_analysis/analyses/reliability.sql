-- For how long did attempts use servers, by number of servers?
-- One row per number of servers.
--   servers      servers of the attempt
--   server_days  days in total during which a server had GPUs allocated to at least one attempt
--                on that number of servers
--   gpu_days     GPU days allocated to the attempts
with held_intervals as (
  select
    servers,
    gpus,
    started_at,
    until_at,
    max(until_at) over (
      partition by machine_id, servers
      order by started_at, until_at
      rows between unbounded preceding and 1 preceding
    ) as reached_at
  from held_servers
)

select
  servers,
  total(greatest(seconds_between(greatest(started_at, reached_at), until_at), 0)) / 86400
    as server_days,
  -- each attempt has as many rows as servers
  total(gpus * seconds_between(started_at, until_at) / servers) / 86400 as gpu_days
from held_intervals
group by servers
order by all
