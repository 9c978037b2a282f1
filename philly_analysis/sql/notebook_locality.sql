-- On how many servers did jobs run, by the archive notebook's definition?
-- One row per job with a first attempt on a large gang.
--   job_id   identifier of the job
--   gpus     GPUs of the job's first attempt
--   entries  entries (containers) in the job's detail, each counted as a server
--   servers  distinct servers in the job's detail
--   wait_s   seconds from submission to start; null: no start
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
