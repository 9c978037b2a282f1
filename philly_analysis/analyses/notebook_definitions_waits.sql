-- What do the archive notebook's rules do to the waits?
-- One row.
--   stale           waits that the notebook repeats from an attempt before
--   zeros           waits of zero that it drops
--   median_s        median of the trusted waits
--   notebook_p50_s  median of the notebook's
select
  (
    select count(*)
    from notebook_waits
    where stale
  ) as stale,
  (
    select count(*)
    from waits
    where wait_s = 0 and gpus > 0
  ) as zeros,
  (select median(wait_s) from trusted_waits) as median_s,
  (select median(wait_s) from notebook_waits) as notebook_p50_s
order by all
