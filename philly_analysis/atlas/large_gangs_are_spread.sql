-- How many gangs run on more servers than they need?
-- One row per (user, gang); gangs of two GPUs and more.
--   user      who submitted it; a job of an unknown user stands alone, under its own id
--   gang      gang-size bucket
--   attempts  attempts with placements
--   spread    of these, attempts on more than the fewest servers that hold so many GPUs
select
  coalesce(jobs.user, jobs.job_id) as "user",
  gang_bucket(placed.gpus) as gang,
  count(*) as attempts,
  count(*) filter (where placed.spread) as spread
from attempt_servers as placed
inner join jobs using (job_id)
where placed.gpus > 1
group by all
order by all
