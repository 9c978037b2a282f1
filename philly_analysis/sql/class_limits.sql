-- When would one more job of each class have exceeded a limit?
-- One row per class with limits and moment at which the answer changed.
--   wait_class  number of the class, as in wait_classes
--   moment      moment of the change in doubled microseconds since 1970, as in machine_use; the
--               first row stands for all time before
--   limited     true when the job would have exceeded at least one limit, from the moment on
with switches as (
  select
    wait_class,
    moment,
    over::integer
    - coalesce(lag(over) over (partition by wait_class, cap order by moment), false)::integer
      as change
  from cap_levels
  where method = 'limit'
),

states as (
  select
    wait_class,
    moment,
    sum(sum(change)) over (partition by wait_class order by moment) > 0 as limited
  from switches
  group by wait_class, moment
)

select
  wait_class,
  moment,
  limited
from states
qualify limited is distinct from lag(limited) over (partition by wait_class order by moment)
