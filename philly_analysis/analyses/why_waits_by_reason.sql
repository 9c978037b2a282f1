-- For how long did each user's attempts wait, and for what, as the scheduler said?
-- One row per (day, user, vc, gang).
--   day          day on which the waits ended, UTC; null: they had not as the log ended
--   user         who submitted them; null: not known
--   vc           virtual cluster or partition
--   gang         gang-size bucket
--   waits        attempts that waited
--   long         of these, those that waited longer than 10 minutes
--   held_s       seconds that they waited before they were eligible
--   throttled_s  while a limit kept them
--   refused_s    while they asked for more than they may
--   pending_s    for their turn, or for machines
select
  coalesce(attempts.started_at, attempts.ended_at)::date as day,
  s.user,
  s.vc,
  gang_bucket(s.gpus) as gang,
  count(*) as waits,
  count(*) filter (s.wait_s > 600) as long,
  sum(s.held_s) as held_s,
  sum(s.throttled_s) as throttled_s,
  sum(s.refused_s) as refused_s,
  sum(s.pending_s) as pending_s
from wait_spans as s
inner join attempts using (job_id, attempt)
group by all
order by all
