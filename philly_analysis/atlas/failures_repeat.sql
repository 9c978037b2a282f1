-- Does a job fail more often after the user's previous job failed?
-- One row per (user, after_failure), over jobs on GPUs with a known status.
--   user           user who submitted the job
--   after_failure  true when the user's previous job ended unsuccessful
--   jobs           jobs, except the first job of each user
--   failed         jobs that ended unsuccessful
with ended as (
  select
    "user",
    failed(status) as failed,
    lag(failed(status)) over (partition by "user" order by submitted_at, job_id) as after_failure
  from job_runs
  where status is not null and "user" is not null and attempts > 0 and gpus is not null
)

select
  "user",
  after_failure,
  count(*) as jobs,
  count(*) filter (where failed) as failed
from ended
where after_failure is not null
group by all
order by all
