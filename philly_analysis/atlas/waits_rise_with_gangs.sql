-- How many waits are long, by gang size?
-- One row per (day, gang).
--   day         day on which the wait began, UTC
--   gang        gang-size bucket
--   waits       attempts with a trusted wait
--   long_waits  attempts that queued for ten minutes or longer, holds excluded
select
  since_at::date as day,
  gang,
  count(*) as waits,
  count(*) filter (where wait_s - held_s >= 600) as long_waits
from trusted_waits
group by all
order by all
