-- How busy are the GPUs that containers hold?
-- One row per container.
--   user      the container
--   gang      gang-size bucket: a container has one GPU
--   attempts  readings
--   minutes   the same: a reading stands for about a minute
--   sum_pct   sum of the readings, %
select
  container_ip as "user",
  '1' as gang,
  count(*) as attempts,
  count(*) as minutes,
  sum(value) as sum_pct
from published
group by all
order by all
