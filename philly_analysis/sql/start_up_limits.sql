-- How long may a wait last that counts as start-up?
-- One row per method of knowing the quota with ten waits during which there was always room
-- within the quota: then nothing but the start-up of the job is known to take time.
--   method     as in wait_parts
--   waits      such waits
--   longest_s  the upper fence of the logarithms of their seconds (Tukey 1977): above the third
--              quartile by 1.5 times the distance of the quartiles, but at most an hour. Of
--              log-normal times, 0.35 % are longer
with quartiles as (
  select
    method,
    count(*) as waits,
    quantile_cont(unexplained_s, 0.25) as q1,
    quantile_cont(unexplained_s, 0.75) as q3
  from wait_parts
  where unexplained_s > 0 and fair_share_s = 0 and fragmentation_s = 0
  group by method
)

select
  method,
  waits,
  least(q3 * pow(q3 / q1, 1.5), 3600) as longest_s
from quartiles
where waits >= 10
