-- materialized by job_id
-- How long did each attempt hold its GPUs?
-- One row per attempt of the jobs in gpu_jobs with a start or a run time.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   vc          virtual cluster
--   user        user who submitted the job
--   gpus        GPUs allocated to the attempt; where not recorded, the gang size of the job
--   started_at  start of the attempt; null: only the run time is known
--   ended_at    end of the attempt; null: not known, or still running
--   running     true when the attempt was still running at the end of the log
--   until_at    end of the attempt; for a running attempt the end of the log; null: not known
--   run_s       run time in seconds: as recorded, else from start to until_at; a lower bound for a
--               running attempt
--   guest       true when the attempt ran on GPUs that other attempts could still be allocated
--   flag        flag of the attempt or job: reason for which the times are not trusted; null: the
--               times are trusted
with attempts_in_order as (
  select
    *,
    -- an attempt without an end still ran as the log ended, unless another followed it
    started_at is not null
    and ended_at is null
    and attempt = max(attempt) over (partition by job_id) as running
  from attempts
)

select
  a.job_id,
  a.attempt,
  gpu_jobs.vc,
  gpu_jobs.user,
  coalesce(a.gpus, gpu_jobs.gpus) as gpus,
  a.started_at,
  a.ended_at,
  a.running,
  case
    when a.running then snapshot.ended_at
    else coalesce(a.ended_at, a.started_at + to_microseconds((1e6 * a.run_s)::bigint))
  end as until_at,
  coalesce(a.run_s, seconds_between(a.started_at, until_at)) as run_s,
  coalesce(a.guest, false) as guest,
  coalesce(a.flag, gpu_jobs.flag) as flag
from attempts_in_order as a
inner join gpu_jobs using (job_id)
cross join snapshot
where a.started_at is not null or a.run_s is not null
