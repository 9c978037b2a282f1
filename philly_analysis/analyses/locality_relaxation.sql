-- Do large gangs that spread over more servers wait less?
-- One row per (gang, servers) of first attempts on five GPUs or more.
--   gang            gang-size bucket: 5-8, >8
--   servers         distinct servers that the attempt ran on
--   attempts        first attempts with a trusted wait and known placements
--   spread          of these, on more servers than the fewest that hold the gang
--   wait_p10_s      wait that 10 % do not exceed
--   wait_p50_s      median wait
--   wait_p90_s      wait that 90 % do not exceed
select
  gang_bucket(waits.gpus) as gang,
  placed.servers,
  count(*) as attempts,
  count(*) filter (where placed.spread) as spread,
  quantile_cont(waits.wait_s, 0.1) as wait_p10_s,
  quantile_cont(waits.wait_s, 0.5) as wait_p50_s,
  quantile_cont(waits.wait_s, 0.9) as wait_p90_s
from waits
inner join attempt_servers as placed
  on waits.job_id = placed.job_id and waits.attempt = placed.attempt
where waits.first and waits.flag is null and waits.gpus >= 5
group by all
order by all
