-- Does a job fail more often where the user's job before it failed?
-- One row per (user, after_failure), over jobs on GPUs whose end is known.
--   user           who submitted it
--   after_failure  true when the user's submission before it ended unsuccessful
--   jobs           jobs, the first of each user left out
--   failed         of these, jobs that ended unsuccessful
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
