-- On how many servers did jobs run, as the archive's notebook counts it?
-- One row per job with a first attempt on a large gang.
--   job_id   job
--   gpus     GPUs of the first attempt
--   entries  entries of its detail (containers), each taken for a server
--   servers  distinct servers that they name
--   wait_s   its start minus submission; null where it has none
with first_attempts as (
  select
    job_id,
    min(attempt) as attempt,
    arg_min_null(started_at, attempt) as started_at
  from attempts
  group by job_id
),

placed as (
  select
    p.job_id,
    first.started_at,
    sum(coalesce(p.gpus, 1))::bigint as gpus,
    count(distinct row(p.machine_id, p.container)) as entries,
    count(distinct p.machine_id) as servers
  from placements as p
  inner join first_attempts as first using (job_id, attempt)
  group by all
)

select
  jobs.job_id,
  placed.gpus,
  placed.entries,
  placed.servers,
  seconds_between(jobs.submitted_at, placed.started_at) as wait_s
from placed
inner join jobs using (job_id)
where is_large(placed.gpus)
