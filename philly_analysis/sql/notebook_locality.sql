-- On how many servers did jobs run, as the archive's notebook counts it?
-- One row per job with a first attempt on a large gang.
--   job_id   job
--   gpus     GPUs of the first attempt
--   entries  entries of its detail (containers), each taken for a server
--   servers  distinct servers that they name
--   wait_s   its start minus submission; null where it has none
with first_attempts as (
  select
    *,
    attempt = min(attempt) over (partition by job_id) as is_first
  from attempts
),

placed as (
  select
    job_id,
    attempt,
    sum(coalesce(gpus, 1))::bigint as gpus,
    count(distinct row(machine_id, container)) as entries,
    count(distinct machine_id) as servers
  from placements
  group by all
)

select
  jobs.job_id,
  placed.gpus,
  placed.entries,
  placed.servers,
  seconds_between(jobs.submitted_at, a.started_at) as wait_s
from first_attempts as a
inner join jobs
  on a.job_id = jobs.job_id
inner join placed
  on a.job_id = placed.job_id and a.attempt = placed.attempt
where a.is_first and is_large(placed.gpus)
