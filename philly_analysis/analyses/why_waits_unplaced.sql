-- For how long did each user's attempts wait, and for which cause, where placements are not known?
-- One row per (method, day, user, vc, gang).
--   method            how the quota is known, as in wait_causes
--   day               day on which the waits ended, UTC
--   user              user who submitted the jobs; null: not known
--   vc                virtual cluster
--   gang              gang-size bucket
--   waits             attempts with a trusted wait
--   long              attempts that waited longer than 10 minutes
--   held_s            seconds before the jobs were eligible
--   held_gpu_s        held_s times the GPUs waited for, in GPU-seconds
--   limit_s           seconds at a limit that an administrator set
--   limit_gpu_s       limit_s times the GPUs waited for, in GPU-seconds
--   pending_s         seconds for priority or resources, as the scheduler states
--   pending_gpu_s     pending_s times the GPUs waited for, in GPU-seconds
--   start_up_s        seconds with room at the end of waits, as short as a start-up
--   start_up_gpu_s    start_up_s times the GPUs waited for, in GPU-seconds
--   unknown_s         seconds that the log does not explain
--   unknown_gpu_s     unknown_s times the GPUs waited for, in GPU-seconds
with causes as (
  select
    job_id,
    attempt,
    coalesce(sum(wait_s) filter (where cause = 'held'), 0) as held_s,
    coalesce(sum(wait_s) filter (where cause = 'limit'), 0) as limit_s,
    coalesce(sum(wait_s) filter (where cause = 'pending'), 0) as pending_s,
    coalesce(sum(wait_s) filter (where cause = 'start_up'), 0) as start_up_s,
    coalesce(sum(wait_s) filter (where cause = 'unknown'), 0) as unknown_s
  from wait_causes_unplaced
  group by job_id, attempt
)

select
  'none' as method,
  q.until_at::date as day,
  q.user,
  q.vc,
  gang_bucket(q.gpus) as gang,
  count(*) as waits,
  count(*) filter (where q.wait_s > 600) as long,
  total(coalesce(c.held_s, 0)) as held_s,
  total(coalesce(c.held_s, 0) * q.gpus) as held_gpu_s,
  total(coalesce(c.limit_s, 0)) as limit_s,
  total(coalesce(c.limit_s, 0) * q.gpus) as limit_gpu_s,
  total(coalesce(c.pending_s, 0)) as pending_s,
  total(coalesce(c.pending_s, 0) * q.gpus) as pending_gpu_s,
  total(coalesce(c.start_up_s, 0)) as start_up_s,
  total(coalesce(c.start_up_s, 0) * q.gpus) as start_up_gpu_s,
  total(coalesce(c.unknown_s, 0)) as unknown_s,
  total(coalesce(c.unknown_s, 0) * q.gpus) as unknown_gpu_s
from queued_attempts as q
left join causes as c
  on q.job_id = c.job_id and q.attempt = c.attempt
group by all
order by all
