-- By which names may labels of telemetry, or names of output files, refer to a job?
-- One row per name and job.
--   name     namespace/name of the job, or of one of its pods; also with an underscore for "/"
--   job_id   job
--   cluster  null: snapshots are of one cluster
with pods as (
  select
    p.name,
    links.life
  from latest_pods as p
  inner join workload_pods as links using (uid)
  union
  select
    p.name,
    l.life
  from latest_pods as p
  inner join plain_lives as l using (uid)
),

names as (
  select
    job_id as name,
    job_id
  from jobs
  union
  select
    pods.name,
    lives.job_id
  from pods
  inner join lives using (life)
  inner join jobs using (job_id)
)

select distinct
  unnest([name, replace(name, '/', '_')]) as name,
  job_id,
  null::varchar as cluster
from names
