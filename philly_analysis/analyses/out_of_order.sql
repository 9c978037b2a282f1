-- How often does a start overtake an earlier arrival?
-- One row per (vc, gang) of the attempt that started.
--   vc        virtual cluster; (none): not recorded
--   gang      gang-size bucket
--   starts    starts that ended a trusted wait
--   overtook  starts while an earlier attempt of the same virtual cluster was still waiting
select
  vc,
  gang_bucket(gpus) as gang,
  count(*) as starts,
  count(*) filter (where overtook) as overtook
from overtakings
group by all
order by all
