-- How do the archive notebook's rules change the waits?
-- One row.
--   stale           waits that the notebook repeats from an earlier attempt
--   zeros           waits of zero that the notebook drops
--   median_s        median of the trusted waits in seconds
--   notebook_p50_s  median of the notebook's waits in seconds
with notebook as (
  select
    count(*) filter (where stale) as stale,
    median(wait_s) as notebook_p50_s
  from notebook_waits
)

select
  notebook.stale,
  (
    select count(*)
    from waits
    where wait_s = 0 and gpus is not null
  ) as zeros,
  (select median(wait_s) from trusted_waits) as median_s,
  notebook.notebook_p50_s
from notebook
order by all
