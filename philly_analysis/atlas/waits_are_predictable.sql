-- How many waits are long, by the last wait that was known at the submission?
-- One row per (day, after_long), over waits for which a wait of the same gang size was known.
--   day         day on which the wait began, UTC
--   after_long  true where the last known wait of the gang size was ten minutes or longer
--   waits       attempts with a trusted wait
--   long_waits  attempts that queued for ten minutes or longer, holds excluded
with known_waits as (
  select
    gpus,
    started_at,
    max(wait_s - held_s) as wait_s
  from trusted_waits
  group by all
)

select
  w.since_at::date as day,
  k.wait_s >= 600 as after_long,
  count(*) as waits,
  count(*) filter (where w.wait_s - w.held_s >= 600) as long_waits
from trusted_waits as w
asof inner join known_waits as k
  on w.gpus = k.gpus and w.since_at > k.started_at
group by all
order by all
