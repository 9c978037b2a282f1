-- How concentrated are jobs and GPU time on few users and virtual clusters?
-- One row per (kind, rank).
--   kind         kind of member: user or vc
--   rank         rank by GPU time: 1 has the most
--   name         name of the user or virtual cluster
--   jobs         jobs submitted
--   gpu_h        allocated GPU hours
--   members_pct  share of users (or virtual clusters) up to this rank, %
--   jobs_pct     share of the jobs that the members up to this rank submitted, %
--   gpu_h_pct    share of the GPU time allocated to the members up to this rank, %; null: no GPU
--                time
with sums as (
  select
    case when "user" is not null then 'user' else 'vc' end as kind,
    coalesce("user", vc) as name,
    count(*) as jobs,
    coalesce(total(gpu_h), 0) as gpu_h
  from job_runs
  group by grouping sets (("user"), (vc))
  having name is not null
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
