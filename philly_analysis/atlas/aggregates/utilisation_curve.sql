-- Which claims does a cluster's curve of GPU utilisation answer?
-- One row per claim. The curve is of all readings, and unallocated GPUs read 0 %, as some allocated
-- GPUs do. The curve of allocated GPUs is between the curves of all readings and of readings above
-- 0 %.
--   claim    name of the claim
--   cluster  always null: the caller names the cluster
--   value    effect over all readings, %
--   low      effect over all readings, %
--   high     effect over readings above 0 %
--   n        null: the number of readings is not published
with points as (
  select
    p.util,
    min(p.cdf) as cdf_from,
    max(p.cdf) as cdf
  from published as p (util, cdf)
  where p.util is not null
  group by p.util
),

steps as (
  select
    util,
    cdf,
    cdf_from,
    util - coalesce(lag(util) over (order by util), 0) as width,
    coalesce(lag(cdf) over (order by util), 0) as cdf_before
  from points
),

means as (
  select
    sum(width * (1 - (cdf_from + cdf_before) / 200)) as mean,
    max(cdf) filter (where util <= 0.5) as idle
  from steps
),

medians as (
  select
    min(points.util) filter (where points.cdf >= 50) as median,
    min(points.util) filter (where points.cdf >= 50 + means.idle / 2) as median_busy
  from points
  cross join means
)

select
  'gpus_are_used_little' as claim,
  null::varchar as cluster,
  mean as value,
  mean as low,
  least(mean / (1 - idle / 100), 100) as high,
  null::bigint as n
from means
union all
select
  'gpu_readings_are_low' as claim,
  null::varchar as cluster,
  median as value,
  median as low,
  median_busy as high,
  null::bigint as n
from medians
order by all
