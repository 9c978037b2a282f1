-- How busy are the GPUs of containers?
-- One row per container.
--   user      identifier of the container
--   gang      gang-size bucket: a container has one GPU
--   attempts  readings
--   minutes   readings, each of which covers about a minute
--   sum_pct   sum of the utilisation readings, %
select
  container_ip as "user",
  '1' as gang,
  count(*) as attempts,
  count(*) as minutes,
  sum(value) as sum_pct
from published
group by all
order by all
