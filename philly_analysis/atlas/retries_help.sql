-- How many jobs with a retry pass in the end?
-- One row per (user, day, gang) of jobs on GPUs with at least two attempts and a known end.
--   user    who submitted it
--   day     day of its submission, UTC
--   gang    gang-size bucket
--   jobs    jobs
--   passed  of these, jobs that passed
select
  "user",
  submitted_at::date as day,
  gang_bucket(gpus) as gang,
  count(*) as jobs,
  count(*) filter (where passed(status)) as passed
from job_runs
where attempts > 1 and status is not null and gpus > 0
group by all
order by all
