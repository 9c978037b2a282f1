-- How many attempts use less than half of their time limit?
-- One row per (user, day, gang), over attempts with a time limit.
--   user   user who submitted the job
--   day    day on which the job was submitted, UTC
--   gang   gang-size bucket
--   runs   attempts
--   loose  attempts that used less than half of their time limit
select
  runs.user,
  jobs.submitted_at::date as day,
  runs.gang,
  count(*) as runs,
  count(*) filter (where runs.used_frac < 0.5) as loose
from limited_runs as runs
inner join gpu_jobs as jobs using (job_id)
group by all
order by all
