-- materialized
-- How long did each attempt hold its GPUs?
-- One row per attempt of the jobs in gpu_jobs that is known to have run.
--   job_id      job
--   attempt     which attempt, from 1
--   vc          virtual cluster
--   user        who submitted it
--   gpus        GPUs allocated to it; the job's gang where the attempt does not say
--   started_at  when it got its GPUs; null: unknown, only how long it ran
--   ended_at    when it gave them back; null: unknown, or still running
--   running     true when it still ran as the log ended
--   until_at    its end, or the end of the log for one that still ran; null: unknown
--   run_s       seconds that it ran: as recorded, else from start to until_at; a lower bound
--               where it still ran
--   guest       true when it ran on GPUs that stayed free for others to hold
--   flag        why its times are not trusted: flag of the attempt or job; null: nothing known
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
