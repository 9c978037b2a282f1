-- How often does a start overtake an earlier arrival?
-- One row per (vc, gang) of the attempt that starts.
--   vc        virtual cluster; (none): not known
--   gang      gang-size bucket
--   starts    starts that ended a trusted wait
--   overtook  of these, starts while an attempt that arrived earlier in the VC waited on
select
  vc,
  gang_bucket(gpus) as gang,
  count(*) as starts,
  count(*) filter (where overtook) as overtook
from overtakings
group by all
order by all
