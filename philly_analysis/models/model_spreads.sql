-- On how many servers do gangs of each size run?
-- One row per (gpus, servers).
--   gpus      GPUs placed
--   servers   distinct servers
--   attempts  attempts of that gang on so many servers
select
  gpus,
  servers,
  count(*) as attempts
from attempt_servers
group by gpus, servers
order by all
