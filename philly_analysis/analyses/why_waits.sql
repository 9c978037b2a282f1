-- For how long did each user's attempts wait, and for which cause?
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
--   quota_s           seconds in which the virtual cluster would have exceeded its quota
--   quota_gpu_s       quota_s times the GPUs waited for, in GPU-seconds
--   too_few_s         seconds in which the pool had fewer GPUs free than the gang
--   too_few_gpu_s     too_few_s times the GPUs waited for, in GPU-seconds
--   fragmented_s      seconds in which enough GPUs were free, on other servers than asked for
--   fragmented_gpu_s  fragmented_s times the GPUs waited for, in GPU-seconds
--   stranded_s        seconds in which GPUs were free without CPUs or memory beside them
--   stranded_gpu_s    stranded_s times the GPUs waited for, in GPU-seconds
--   behind_s          seconds with room, in which a job of higher order waited
--   behind_gpu_s      behind_s times the GPUs waited for, in GPU-seconds
--   start_up_s        seconds with room at the end of waits, as short as a start-up
--   start_up_gpu_s    start_up_s times the GPUs waited for, in GPU-seconds
--   unknown_s         seconds that the log does not explain
--   unknown_gpu_s     unknown_s times the GPUs waited for, in GPU-seconds
with seconds as (
  select
    c.method,
    q.until_at::date as day,
    q.user,
    q.vc,
    gang_bucket(q.gpus) as gang,
    c.cause,
    total(c.wait_s) as wait_s,
    total(c.wait_s * q.gpus) as wait_gpu_s
  from wait_causes as c
  inner join queued_attempts as q using (job_id, attempt)
  group by all
)

select
  methods.method,
  w.day,
  w.user,
  w.vc,
  w.gang,
  w.waits,
  w.long,
  coalesce(sum(s.wait_s) filter (where s.cause = 'held'), 0) as held_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'held'), 0) as held_gpu_s,
  coalesce(sum(s.wait_s) filter (where s.cause = 'limit'), 0) as limit_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'limit'), 0) as limit_gpu_s,
  coalesce(sum(s.wait_s) filter (where s.cause = 'quota'), 0) as quota_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'quota'), 0) as quota_gpu_s,
  coalesce(sum(s.wait_s) filter (where s.cause = 'too_few'), 0) as too_few_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'too_few'), 0) as too_few_gpu_s,
  coalesce(sum(s.wait_s) filter (where s.cause = 'fragmented'), 0) as fragmented_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'fragmented'), 0) as fragmented_gpu_s,
  coalesce(sum(s.wait_s) filter (where s.cause = 'stranded'), 0) as stranded_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'stranded'), 0) as stranded_gpu_s,
  coalesce(sum(s.wait_s) filter (where s.cause = 'behind'), 0) as behind_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'behind'), 0) as behind_gpu_s,
  coalesce(sum(s.wait_s) filter (where s.cause = 'start_up'), 0) as start_up_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'start_up'), 0) as start_up_gpu_s,
  coalesce(sum(s.wait_s) filter (where s.cause = 'unknown'), 0) as unknown_s,
  coalesce(sum(s.wait_gpu_s) filter (where s.cause = 'unknown'), 0) as unknown_gpu_s
from daily_waits as w
cross join quota_methods as methods
left join seconds as s
  on
    methods.method = s.method
    and w.day = s.day
    and w.user is not distinct from s.user
    and w.vc is not distinct from s.vc
    and w.gang = s.gang
group by methods.method, w.day, w.user, w.vc, w.gang, w.waits, w.long
order by all
