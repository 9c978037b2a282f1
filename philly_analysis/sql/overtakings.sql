-- materialized by job_id
-- Which starts overtook an attempt that had waited longer in the same virtual cluster?
-- One row per start that ended a trusted wait. Only attempts that wait for the same pool are
-- overtaken.
--   job_id         identifier of the job that started
--   attempt        number of the attempt within its job, from 1
--   vc             virtual cluster; (none): not recorded
--   pool           pool of machines that may serve the job
--   gpus           gang size
--   started_at     start of the attempt
--   overtook       true when an attempt with an earlier arrival was still waiting
--   waiter_job_id  job of the overtaken attempt that arrived first
--   waiter_gpus    gang size of the overtaken attempt that arrived first
with arrivals as (
  select
    w.job_id,
    w.attempt,
    coalesce(w.vc, '(none)') as vc,
    job_pools.pool,
    w.gpus,
    w.since_at,
    w.started_at
  from trusted_waits as w
  inner join job_pools using (job_id)
),

-- an attempt heads the queue once every earlier arrival has started, until it starts itself
queue_heads as (
  select
    *,
    greatest(
      since_at,
      max(started_at) over (
        partition by vc, pool
        order by since_at, job_id, attempt
        rows between unbounded preceding and 1 preceding
      )
    ) as heads_from
  from arrivals
  qualify heads_from < started_at
)

select
  arrivals.job_id,
  arrivals.attempt,
  arrivals.vc,
  arrivals.pool,
  arrivals.gpus,
  arrivals.started_at,
  coalesce(
    queue_heads.started_at > arrivals.started_at and queue_heads.since_at < arrivals.since_at,
    false
  ) as overtook,
  case when overtook then queue_heads.job_id end as waiter_job_id,
  case when overtook then queue_heads.gpus end as waiter_gpus
from arrivals
asof left join queue_heads
  on
    arrivals.vc = queue_heads.vc
    and arrivals.pool = queue_heads.pool
    and arrivals.started_at >= queue_heads.heads_from
