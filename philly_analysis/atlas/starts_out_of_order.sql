-- How many starts overtake an earlier arrival?
-- One row per (day, gang).
--   day       day of the attempt's start, UTC
--   gang      gang-size bucket of the attempt that started
--   starts    starts that ended a trusted wait
--   overtook  starts while an earlier attempt of the same virtual cluster was still waiting
select
  started_at::date as day,
  gang_bucket(gpus) as gang,
  count(*) as starts,
  count(*) filter (where overtook) as overtook
from overtakings
group by all
order by all
