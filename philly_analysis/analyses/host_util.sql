-- How much CPU and memory do servers use, with a job and without?
-- One row per (resource, servers, percentile).
--   resource    cpu: CPU use; mem: memory in use, page cache included, over total memory
--   servers     servers that are counted: all, with a job (an attempt has GPUs of the server in the
--               minute), or without a job
--   server_h    server-hours that have a reading
--   mean_pct    mean use over the server-minutes, %
--   percentile  percentile, 0 to 100
--   util_pct    use that `percentile` % of the server-minutes do not exceed, to within a point
with bins as (
  select
    { 'resource': resource, 'busy': attempts > 0 } as key,
    bin,
    total(minutes) as minutes,
    total(sum_pct) as sum_pct
  from host_util_bins
  where bin is not null
  group by grouping sets ((resource, attempts > 0, bin), (resource, bin))
),

groups as (
  select
    key,
    total(minutes) as minutes,
    total(sum_pct) as sum_pct
  from bins
  group by key
)

select
  groups.key.resource,
  case groups.key.busy
    when true then 'with a job'
    when false then 'without a job'
    else 'all'
  end as servers,
  groups.minutes / 60 as server_h,
  groups.sum_pct / groups.minutes as mean_pct,
  curves.percentile,
  curves.util_pct
from groups
inner join bin_percentiles(bins) as curves using (key)
order by all
