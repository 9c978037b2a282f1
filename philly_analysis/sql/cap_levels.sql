-- When would one more job of a class have exceeded a limit, or the quota of its virtual cluster?
-- One row per class, cap and moment at which the answer changed.
--   wait_class  number of the class, as in wait_classes
--   method      how the quota is known, as in vc_quotas; limit: the cap is a limit
--   cap         name of the limit; quota
--   moment      moment of the change in doubled microseconds since 1970, as in machine_use; the
--               first row stands for all time before
--   over        true when the job would have exceeded the cap, from the moment on
with limits as (
  select
    wait_class,
    unnest(limits).name as limit_name,
    unnest(limits).weight as weight
  from wait_classes
),

quotas as (
  select
    c.wait_class,
    q.method,
    q.moment,
    requests.gpus > q.room_before as over_before,
    requests.gpus > q.room_after as over
  from wait_classes as c
  inner join requests using (request)
  inner join quota_room as q
    on c.vc = q.vc
)

select
  limits.wait_class,
  'limit' as method,
  limits.limit_name as cap,
  u.moment,
  u.used_after + limits.weight > u.amount as over
from limits
inner join limit_use as u
  on
    limits.limit_name = u.limit_name
    and (u.used_after + limits.weight > u.amount) <> (u.used_before + limits.weight > u.amount)
union all
select
  limits.wait_class,
  'limit' as method,
  limits.limit_name as cap,
  0 as moment,
  limits.weight > any_value(u.amount) as over
from limits
inner join limit_use as u
  on limits.limit_name = u.limit_name
group by limits.wait_class, limits.limit_name, limits.weight
union all
select
  wait_class,
  method,
  'quota' as cap,
  moment,
  over
from quotas
where over_before <> over or moment = 0
