-- For how long did each user's attempts wait, where nothing tells for what?
-- One row per (day, user, vc, gang).
--   day        day of their starts, UTC
--   user       who submitted them; null: not known
--   vc         virtual cluster
--   gang       gang-size bucket
--   waits      attempts with a trusted wait
--   long       of these, those that waited longer than 10 minutes
--   unknown_s  seconds that they waited
select
  started_at::date as day,
  "user",
  vc,
  gang,
  count(*) as waits,
  count(*) filter (wait_s > 600) as long,
  sum(wait_s) as unknown_s
from trusted_waits
group by all
order by all
