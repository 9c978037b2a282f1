-- How many GPUs of which server were allocated to each attempt, and when?
-- One row per attempt that took time, and server: attempts that are derived again, and stored
-- attempts on the same servers.
with allocated as (
  select
    job_id,
    prefix,
    node,
    started_at,
    ended_at,
    coalesce(gpus, about_gpus) as gpus,
    gpus as known_gpus
  from shares
),

held as (
  select
    p.job_id,
    p.attempt,
    servers.prefix,
    servers.node,
    sum(p.gpus) as gpus
  from stored_placements as p
  inner join servers using (machine_id)
  inner join touched_servers using (machine_id)
  where p.job_id not in (select job_id from removed_jobs)
  group by all
),

stored as (
  select
    held.job_id,
    held.prefix,
    held.node,
    a.started_at,
    a.ended_at,
    coalesce(held.gpus, i.about_gpus) as gpus,
    held.gpus as known_gpus
  from held
  inner join stored_attempts as a using (job_id, attempt)
  left join indivisible_shares as i
    on
      held.gpus is null
      and held.job_id = i.job_id
      and held.attempt = i.attempt
      and held.prefix = i.prefix
      and held.node = i.node
),

united as (
  from allocated
  union all by name
  from stored
)

select *
from united
where coalesce(ended_at > started_at, true)
