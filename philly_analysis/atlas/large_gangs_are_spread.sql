-- How many gangs run on more servers than they need?
-- One row per (user, gang), for gangs of two GPUs or more.
--   user      user who submitted the job; the job's id where the user is not recorded
--   gang      gang-size bucket
--   attempts  attempts with placements
--   spread    attempts on more servers than the fewest that hold so many GPUs
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
