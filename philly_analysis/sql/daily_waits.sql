-- How many attempts waited, and how many for long?
-- One row per (day, user, vc, gang) with a wait.
--   day    day on which the waits ended, UTC
--   user   user who submitted the jobs; null: not known
--   vc     virtual cluster
--   gang   gang-size bucket
--   waits  attempts with a trusted wait
--   long   attempts that waited longer than 10 minutes
select
  until_at::date as day,
  "user",
  vc,
  gang_bucket(gpus) as gang,
  count(*) as waits,
  count(*) filter (where wait_s > 600) as long
from queued_attempts
group by all
