-- How long did large gangs wait for their first start, and on how many servers did they run?
-- One row per first attempt of a large gang with a trusted wait.
--   user     user who submitted the job
--   gpus     gang size
--   gang     gang-size bucket
--   wait_s   waiting time in seconds
--   servers  distinct servers that the attempt ran on; null: no placements
--   stretch  servers divided by the fewest servers that hold the gang
--   spread   true when the attempt ran on more servers than the fewest that hold the gang
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
