-- For how long did each user's attempts wait, where nothing tells for what?
-- One row per (user, gang).
--   user       who submitted them; null: not known
--   gang       gang-size bucket
--   waits      attempts with a trusted wait
--   long       of these, those that waited longer than 10 minutes
--   unknown_s  seconds that they waited
select
  "user",
  gang,
  count(*) as waits,
  count(*) filter (wait_s > 600) as long,
  sum(wait_s) as unknown_s
from trusted_waits
group by all
order by all
