-- For how long did each user's attempts wait, and for what, as placements and quotas tell?
-- One row per (method, day, user, vc, gang).
--   method          how the quota is known, as in wait_causes
--   day             day of their starts, UTC
--   user            who submitted them; null: not known
--   vc              virtual cluster
--   gang            gang-size bucket
--   waits           attempts with a trusted wait
--   long            of these, those that waited longer than 10 minutes
--   held_s          seconds that they waited before they were eligible
--   quota_s         while their GPUs would have put their virtual cluster over its quota
--   full_s          within quota, while their pool had fewer GPUs free than the gang
--   scattered_s     while it had enough, on more machines than the gang needs
--   start_up_s      there was always room within quota, and the wait is as short as a start-up
--   unknown_s       while neither applied: the cause is not in the log
select
  c.method,
  attempts.started_at::date as day,
  jobs.user,
  c.vc,
  gang_bucket(c.gpus) as gang,
  count(*) as waits,
  count(*) filter (c.wait_s > 600) as long,
  sum(c.held_s) as held_s,
  sum(c.fair_share_s) as quota_s,
  sum(c.full_s) as full_s,
  sum(c.fragmentation_s - c.full_s) as scattered_s,
  sum(c.start_up_s) as start_up_s,
  sum(c.unknown_s) as unknown_s
from wait_causes as c
inner join jobs using (job_id)
inner join attempts using (job_id, attempt)
group by all
order by all
