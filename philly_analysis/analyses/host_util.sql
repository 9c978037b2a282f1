-- How much CPU and memory do servers use, with a job and without?
-- One row per (resource, servers, percentile).
--   resource    cpu, or mem: memory in use, page cache included, over memory in total
--   servers     all; with a job: an attempt held GPUs of it in that minute; without a job
--   server_h    server-hours with a reading
--   mean_pct    their mean
--   percentile  0 to 100
--   util_pct    use that this share of server-minutes does not exceed, to within a point
with readings as (
  select
    'cpu' as resource,
    attempts > 0 as busy,
    cpu_bin as bin,
    minutes,
    sum_cpu_pct as sum_pct
  from host_util_bins
  union all by name
  select
    'mem' as resource,
    attempts > 0 as busy,
    mem_bin as bin,
    minutes,
    sum_mem_pct as sum_pct
  from host_util_bins
),

bins as (
  select
    resource,
    case busy
      when true then 'with a job'
      when false then 'without a job'
      else 'all'
    end as servers,
    bin,
    sum(minutes) as minutes,
    sum(sum_pct) as sum_pct
  from readings
  where bin is not null
  group by grouping sets ((resource, busy, bin), (resource, bin))
),

cumulated as (
  select
    *,
    sum(minutes) over (partition by resource, servers order by bin) as upto
  from bins
),

grid as (
  select
    resource,
    servers,
    sum(minutes) as minutes,
    sum(sum_pct) as sum_pct,
    unnest(range(101)) as percentile
  from bins
  group by resource, servers
)

select
  grid.resource,
  grid.servers,
  grid.minutes / 60 as server_h,
  grid.sum_pct / grid.minutes as mean_pct,
  grid.percentile,
  bin_quantile(c.bin, c.minutes, c.upto, grid.percentile * grid.minutes / 100) as util_pct
from grid
asof inner join cumulated as c
  on
    grid.resource = c.resource
    and grid.servers = c.servers
    and grid.percentile * grid.minutes <= 100 * c.upto
order by all
