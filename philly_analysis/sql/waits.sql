-- materialized by job_id
-- How long did each attempt wait for its GPUs?
-- One row per attempt of the jobs in gpu_jobs that started, and whose wait began at a known moment.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   vc          virtual cluster
--   user        user who submitted the job
--   gpus        gang size
--   first       true for the first attempt, false for a retry
--   since_at    submission, or the end of the attempt before
--   started_at  time at which the attempt got its GPUs
--   wait_s      seconds from since_at to started_at; negative when attempts overlap
--   held_s      seconds of the wait before the job was eligible: dependencies, holds, a begin time
--   flag        why the wait is not trusted: flag of the attempt or job, or negative wait
with episodes as (
  select
    a.job_id,
    a.attempt,
    gpu_jobs.vc,
    gpu_jobs.user,
    gpu_jobs.gpus,
    a.started_at,
    row_number() over in_order = 1 as first,
    coalesce(a.eligible_at, gpu_jobs.eligible_at) as eligible_at,
    case when first then gpu_jobs.submitted_at else lag(a.ended_at) over in_order end as since_at,
    coalesce(a.flag, gpu_jobs.flag) as flag
  from attempts as a
  inner join gpu_jobs using (job_id)
  window in_order as (partition by a.job_id order by a.attempt)
)

select
  job_id,
  attempt,
  vc,
  user,
  gpus,
  first,
  since_at,
  started_at,
  seconds_between(since_at, started_at) as wait_s,
  case
    when eligible_at > since_at then seconds_between(since_at, least(eligible_at, started_at))
    else 0
  end as held_s,
  case when started_at < since_at then coalesce(flag, 'negative_wait') else flag end as flag
from episodes
where started_at is not null and since_at is not null
