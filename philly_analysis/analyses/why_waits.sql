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
with methods as (
  select distinct method
  from vc_quotas
  union all
  select 'none' as method
  where not exists (select 1 from vc_quotas)
),

causes as (
  select
    method,
    job_id,
    attempt,
    coalesce(sum(wait_s) filter (where cause = 'held'), 0) as held_s,
    coalesce(sum(wait_s) filter (where cause = 'limit'), 0) as limit_s,
    coalesce(sum(wait_s) filter (where cause = 'quota'), 0) as quota_s,
    coalesce(sum(wait_s) filter (where cause = 'too_few'), 0) as too_few_s,
    coalesce(sum(wait_s) filter (where cause = 'fragmented'), 0) as fragmented_s,
    coalesce(sum(wait_s) filter (where cause = 'stranded'), 0) as stranded_s,
    coalesce(sum(wait_s) filter (where cause = 'behind'), 0) as behind_s,
    coalesce(sum(wait_s) filter (where cause = 'start_up'), 0) as start_up_s,
    coalesce(sum(wait_s) filter (where cause = 'unknown'), 0) as unknown_s
  from wait_causes
  group by method, job_id, attempt
)

select
  methods.method,
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
  total(coalesce(c.quota_s, 0)) as quota_s,
  total(coalesce(c.quota_s, 0) * q.gpus) as quota_gpu_s,
  total(coalesce(c.too_few_s, 0)) as too_few_s,
  total(coalesce(c.too_few_s, 0) * q.gpus) as too_few_gpu_s,
  total(coalesce(c.fragmented_s, 0)) as fragmented_s,
  total(coalesce(c.fragmented_s, 0) * q.gpus) as fragmented_gpu_s,
  total(coalesce(c.stranded_s, 0)) as stranded_s,
  total(coalesce(c.stranded_s, 0) * q.gpus) as stranded_gpu_s,
  total(coalesce(c.behind_s, 0)) as behind_s,
  total(coalesce(c.behind_s, 0) * q.gpus) as behind_gpu_s,
  total(coalesce(c.start_up_s, 0)) as start_up_s,
  total(coalesce(c.start_up_s, 0) * q.gpus) as start_up_gpu_s,
  total(coalesce(c.unknown_s, 0)) as unknown_s,
  total(coalesce(c.unknown_s, 0) * q.gpus) as unknown_gpu_s
from queued_attempts as q
cross join methods
left join causes as c
  on methods.method = c.method and q.job_id = c.job_id and q.attempt = c.attempt
group by all
order by all
