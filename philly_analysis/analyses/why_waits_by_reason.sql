-- For how long did each user's attempts wait, and for what, as the scheduler said?
-- One row per (user, gang).
--   user         who submitted them; null: not known
--   gang         gang-size bucket
--   waits        attempts that waited
--   long         of these, those that waited longer than 10 minutes
--   held_s       seconds that they waited before they were eligible
--   throttled_s  while a limit kept them
--   refused_s    while they asked for more than they may
--   pending_s    for their turn, or for machines
select
  "user",
  gang_bucket(gpus) as gang,
  count(*) as waits,
  count(*) filter (wait_s > 600) as long,
  sum(held_s) as held_s,
  sum(throttled_s) as throttled_s,
  sum(refused_s) as refused_s,
  sum(pending_s) as pending_s
from wait_spans
group by all
order by all
