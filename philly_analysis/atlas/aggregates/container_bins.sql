-- How are the utilisation readings of containers' GPUs distributed?
-- One row per (container, bin).
--   user     identifier of the container
--   bin      utilisation rounded up to whole percent
--   minutes  readings, each of which covers about a minute
select
  container_ip as "user",
  ceil(value) as bin,
  count(*) as minutes
from published
group by all
order by all
