-- Do large gangs that spread over more servers wait less?
-- One row per (gang, servers), over first attempts of large gangs.
--   gang        gang-size bucket
--   servers     distinct servers that the attempt ran on
--   attempts    first attempts with a trusted wait and known placements
--   spread      attempts on more servers than the fewest that hold the gang
--   wait_p10_s  10th percentile of the waits in seconds
--   wait_p50_s  median wait in seconds
--   wait_p90_s  90th percentile of the waits in seconds
select
  gang,
  servers,
  count(*) as attempts,
  count(*) filter (where spread) as spread,
  quantile_cont(wait_s, 0.1) as wait_p10_s,
  quantile_cont(wait_s, 0.5) as wait_p50_s,
  quantile_cont(wait_s, 0.9) as wait_p90_s
from large_waits
where servers is not null
group by all
order by all
