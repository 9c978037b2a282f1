-- For how long did attempts use servers, by number of servers?
-- One row per number of servers.
--   servers      servers of the attempt
--   server_days  days in total during which a server had GPUs allocated to at least one attempt
--                on that number of servers
--   gpu_days     GPU days allocated to the attempts
select
  servers,
  total(alike_s) / 86400 as server_days,
  -- each attempt has as many rows as servers
  total(gpus * seconds_between(started_at, until_at) / servers) / 86400 as gpu_days
from held_servers
group by servers
order by all
