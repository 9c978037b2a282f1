-- For how many days was each server in use?
-- One row per server with GPUs allocated to an attempt with trusted times.
--   machine_id  identifier of the server
--   attempts    attempts with GPUs of the server
--   days_held   days in total during which an attempt had GPUs of the server
select
  machine_id,
  count(*) as attempts,
  total(first_s) / 86400 as days_held
from held_servers
group by machine_id
order by all
