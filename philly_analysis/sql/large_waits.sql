-- How long did large gangs wait for their first start, and on how many servers did they then run?
-- One row per first attempt of a large gang with a trusted wait.
--   user     who submitted it
--   gpus     gang size
--   gang     gang-size bucket
--   wait_s   seconds waited
--   servers  distinct servers that it ran on; null: no placements
--   stretch  servers over the fewest that hold the gang
--   spread   true on more than the fewest
select
  w.user,
  w.gpus,
  w.gang,
  w.wait_s,
  placed.servers,
  placed.servers / placed.fewest_servers as stretch,
  placed.spread
from trusted_waits as w
left join attempt_servers as placed using (job_id, attempt)
where w.first and is_large(w.gpus)
