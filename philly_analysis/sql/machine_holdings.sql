-- by job_id
-- How many GPUs of each server were allocated, and when?
-- One row per interval of an allocated GPU, or attempt whose GPU indices are not known, and server.
--   machine_id    identifier of the server
--   allocated_at  start of the launch, as in launches; the start where no launch time is known
--   started_at    start of the attempt
--   until_at      end of the allocation, or of the log
--   gpus          GPUs; where an attempt's share of the server is not known, its GPUs spread evenly
with uncounted as (
  select
    job_id,
    attempt
  from placements
  where gpu is null and gpus is null
),

-- servers of attempts whose GPUs on each server are not recorded
spreads as (
  select
    p.job_id,
    p.attempt,
    count(*) as servers
  from placements as p
  semi join uncounted using (job_id, attempt)
  where p.gpu is null
  group by all
)

select
  machine_id,
  least(
    started_at,
    greatest(allocated_at, lag(until_at) over (partition by machine_id, gpu order by started_at))
  ) as allocated_at,
  started_at,
  until_at,
  1 as gpus
from busy_gpus
union all by name
select
  p.machine_id,
  r.started_at - to_microseconds(coalesce(l.launch_us, 0)) as allocated_at,
  r.started_at,
  r.until_at,
  -- GPUs whose server is not recorded count as spread evenly over the attempt's servers
  coalesce(p.gpus, r.gpus / s.servers) as gpus
from placements as p
inner join attempt_runs as r using (job_id, attempt)
left join launches as l using (job_id, attempt)
left join spreads as s using (job_id, attempt)
where p.gpu is null and r.until_at > r.started_at
