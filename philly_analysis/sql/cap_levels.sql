-- by clock
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

weights as (
  select distinct
    limit_name,
    weight
  from limits
),

-- classes share limits and weights, so that each pair is compared with the use once
limit_levels as (
  select
    w.limit_name,
    w.weight,
    u.moment,
    u.used_after + w.weight > u.amount as over
  from weights as w
  inner join limit_use as u
    on
      w.limit_name = u.limit_name
      and (u.used_after + w.weight > u.amount) <> (u.used_before + w.weight > u.amount)
  union all
  select
    w.limit_name,
    w.weight,
    0 as moment,
    w.weight > any_value(u.amount) as over
  from weights as w
  inner join limit_use as u
    on w.limit_name = u.limit_name
  group by w.limit_name, w.weight
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
  levels.moment,
  levels.over
from limits
inner join limit_levels as levels using (limit_name, weight)
union all
select
  wait_class,
  method,
  'quota' as cap,
  moment,
  over
from quotas
where over_before <> over or moment = 0
