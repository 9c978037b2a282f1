-- How many starts overtake an earlier arrival?
-- One row per (day, gang).
--   day       day of the start, UTC
--   gang      gang-size bucket of the attempt that starts
--   starts    starts that ended a trusted wait
--   overtook  of these, starts while an attempt that arrived earlier in the VC waited on
select
  started_at::date as day,
  gang_bucket(gpus) as gang,
  count(*) as starts,
  count(*) filter (where overtook) as overtook
from overtakings
group by all
order by all
