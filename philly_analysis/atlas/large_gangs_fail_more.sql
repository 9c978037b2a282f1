-- How many jobs fail, by gang size?
-- One row per (user, day, gang) of jobs with an attempt and a known end.
--   user    who submitted it
--   day     day of its submission, UTC
--   gang    gang-size bucket
--   jobs    jobs
--   failed  of these, jobs that ended unsuccessful
select
  "user",
  submitted_at::date as day,
  gang_bucket(gpus) as gang,
  count(*) as jobs,
  count(*) filter (where failed(status)) as failed
from job_runs
where status is not null and attempts > 0 and gpus is not null
group by all
order by all
