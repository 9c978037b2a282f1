-- How are the readings of GPUs that containers hold distributed?
-- One row per (container, bin).
--   user     the container
--   bin      utilisation rounded up to whole percent
--   minutes  readings: each stands for about a minute
select
  container_ip as "user",
  ceil(value) as bin,
  count(*) as minutes
from published
group by all
order by all
