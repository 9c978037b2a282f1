-- materialized
-- How long did attempts wait, by the archive notebook's definition?
-- One row per attempt with a value other than zero. If a start, or the beginning of a wait, is
-- missing, the notebook repeats the value of the previous attempt. A first attempt then has the
-- value 0, hence no row.
--   job_id   identifier of the job
--   attempt  number of the attempt within its job, from 1
--   vc       virtual cluster
--   gpus     GPUs of the job's first attempt
--   gang     gang-size bucket
--   wait_s   waiting time in seconds; negative where attempts overlap
--   stale    true when the notebook repeats the value of an earlier attempt
with ordered as (
  select
    jobs.job_id,
    a.attempt,
    jobs.vc,
    first_value(coalesce(a.gpus, jobs.gpus)) over in_order as gpus,
    seconds_between(
      case
        when row_number() over in_order = 1 then jobs.submitted_at
        else lag(a.ended_at) over in_order
      end,
      a.started_at
    ) as own_wait_s
  from attempts as a
  inner join jobs using (job_id)
  window in_order as (partition by jobs.job_id order by a.attempt)
)

select
  job_id,
  attempt,
  vc,
  gpus,
  gang_bucket(gpus) as gang,
  last_value(own_wait_s ignore nulls) over (
    partition by job_id order by attempt rows unbounded preceding
  ) as wait_s,
  own_wait_s is null as stale
from ordered
where gpus > 0
qualify wait_s <> 0
