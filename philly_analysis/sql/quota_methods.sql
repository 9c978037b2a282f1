-- How are quotas known?
-- One row per method.
--   method  how the quota is known, as in vc_quotas; none: no quota is known
--   best    true for given quotas; where none is given, for the first method by name
with methods as (
  select distinct method
  from vc_quotas
  union all
  select 'none' as method
  where not exists (select 1 from vc_quotas)
)

select
  method,
  row_number() over (order by method <> 'given', method) = 1 as best
from methods
