-- How many jobs fail, by gang size?
-- One row per (user, day, gang), over jobs with an attempt and a known status.
--   user    user who submitted the job
--   day     day on which the job was submitted, UTC
--   gang    gang-size bucket
--   jobs    jobs
--   failed  jobs that ended unsuccessful
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
