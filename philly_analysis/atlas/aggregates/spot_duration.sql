-- What is the median run time of the jobs?
-- One row.
--   claim    name of the claim
--   cluster  always null: the caller names the cluster
--   value    median run time, s
--   low      always null: the data imply no limit
--   high     always null: the data imply no limit
--   n        jobs of the trace
select
  'jobs_are_short' as claim,
  null::varchar as cluster,
  p.duration_seconds as value,
  null::double as low,
  null::double as high,
  466867 as n
from published as p (quantile, duration_seconds)
where p.quantile = 0.5
