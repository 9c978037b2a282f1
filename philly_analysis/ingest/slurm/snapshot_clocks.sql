-- materialized
-- By how much do the times in each file of snapshots differ from the times of sacct?
-- One row per file, with the cluster of its jobs. Submissions and starts of the same jobs differ by
-- the offset of a time zone, a multiple of a quarter of an hour. The most frequent offset counts. A
-- file whose jobs sacct lacks has the most frequent offset of all files.
with printed as (
  select distinct
    source_file,
    id,
    'submit' as event,
    slurm_time(submit) as moment
  from job_states
  union all
  select distinct
    source_file,
    id,
    'start' as event,
    slurm_time(start) as moment
  from running
),

recorded as (
  select distinct
    coalesce(
      regexp_extract(jobidraw, '^[0-9]+$'), regexp_extract(jobid, '^([0-9]+)(?:_\[.*)?$', 1)
    ) as id,
    cluster,
    unnest(['submit', 'start']) as event,
    unnest([slurm_time(submit), slurm_time(start)]) as moment
  from sacct
  where (select count(*) from snapshots) > 0
),

differences as (
  select
    printed.source_file,
    recorded.cluster,
    seconds_between(printed.moment, recorded.moment) as offset_s,
    count(distinct printed.id) as jobs
  from printed
  inner join recorded
    on printed.id = recorded.id and printed.event = recorded.event
  where offset_s % 900 = 0 and abs(offset_s) <= 14 * 3600
  group by all
),

best as (
  select
    source_file,
    min_by(offset_s, (-jobs, abs(offset_s))) as offset_s,
    min_by(cluster, (-jobs, abs(offset_s))) as cluster,
    max(jobs) as jobs
  from differences
  group by source_file
),

usual as (
  select offset_s
  from best
  group by offset_s
  order by sum(jobs) desc, abs(offset_s) asc
  limit 1
),

only_one as (
  select case when count(distinct cluster) = 1 then any_value(cluster) end as cluster
  from sacct
),

files as (
  select
    source_file,
    count(distinct id) as jobs
  from printed
  group by source_file
  union all
  select distinct
    source_file,
    0 as jobs
  from snapshots
  where source_file not in (select source_file from printed)
)

select
  files.source_file,
  files.jobs,
  coalesce(best.jobs, 0) as matched_jobs,
  coalesce(best.offset_s, usual.offset_s, 0) as offset_s,
  coalesce(best.cluster, only_one.cluster) as cluster
from files
cross join only_one
left join best using (source_file)
left join usual
  on true
