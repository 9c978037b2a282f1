-- How concentrated are jobs and GPU time on few users and virtual clusters?
-- One row per (kind, rank).
--   kind           user or vc
--   rank           1 for the most GPU time
--   name           user or virtual cluster
--   jobs           jobs submitted
--   gpu_h          GPU hours allocated
--   members_pct    share of users (or VCs) up to this rank
--   jobs_pct       share of jobs that they submitted together
--   gpu_h_pct      share of GPU time allocated to them together; null where none was
with members as (
  select
    unnest(['user', 'vc']) as kind,
    unnest([j.user, j.vc]) as name,
    j.gpu_h
  from job_runs as j
),

sums as (
  select
    kind,
    name,
    count(*) as jobs,
    coalesce(sum(gpu_h), 0) as gpu_h
  from members
  where name is not null
  group by all
)

select
  kind,
  (row_number() over by_size)::integer as rank,
  name,
  jobs,
  gpu_h,
  100 * row_number() over by_size / count(*) over (partition by kind) as members_pct,
  100 * sum(jobs) over by_size / sum(jobs) over (partition by kind) as jobs_pct,
  100 * sum(gpu_h) over by_size / nullif(sum(gpu_h) over (partition by kind), 0) as gpu_h_pct
from sums
window by_size as (
  partition by kind
  order by gpu_h desc, jobs desc, name asc
  rows unbounded preceding
)
order by all
