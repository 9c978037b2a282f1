-- by clock
-- How many more GPUs did the quota of each virtual cluster allow, from moment to moment?
-- One row per method, virtual cluster and moment at which the number may have changed. In a cohort,
-- the members share what they do not use, by Kueue's rules: a member always gets the part of its
-- quota that it does not lend, and at most its borrowing limit beyond its quota.
--   method       how the quota is known, as in vc_quotas
--   vc           virtual cluster
--   moment       moment of the change in doubled microseconds since 1970, as in machine_use; 0: the
--                room before any use
--   room_before  GPUs that the quota allowed before the moment
--   room_after   GPUs that the quota allowed from the moment on
with members as (
  select
    q.method,
    q.vc,
    c.cohort,
    q.gpus,
    case when c.lending_limit is null then 0 else greatest(q.gpus - c.lending_limit, 0) end
      as kept_gpus,
    q.gpus + c.borrowing_limit as most_gpus
  from vc_quotas as q
  inner join given_cohorts as c using (vc)
  where q.method = 'given'
),

uses as (
  select
    m.*,
    u.moment,
    u.gpus_before,
    u.gpus_after
  from members as m
  inner join vc_use as u using (vc)
),

-- what the members take of the cohort together: a member keeps what it does not lend
cohort_changes as (
  select
    cohort,
    moment,
    sum(greatest(gpus_after, kept_gpus) - greatest(gpus_before, kept_gpus)) as change
  from uses
  group by cohort, moment
),

totals as (
  select
    cohort,
    sum(gpus) as gpus,
    sum(kept_gpus) as kept_gpus
  from members
  group by cohort
),

levels as (
  select
    c.cohort,
    c.moment,
    t.gpus - t.kept_gpus - sum(c.change) over (partition by c.cohort order by c.moment) as free_gpus
  from cohort_changes as c
  inner join totals as t using (cohort)
  union all
  select
    cohort,
    0 as moment,
    gpus - kept_gpus as free_gpus
  from totals
),

cohort_room as (
  select
    m.method,
    m.vc,
    l.moment,
    least(
      l.free_gpus + greatest(m.kept_gpus - coalesce(u.gpus_after, 0), 0),
      m.most_gpus - coalesce(u.gpus_after, 0)
    ) as room
  from members as m
  inner join levels as l using (cohort)
  asof left join uses as u
    on m.vc = u.vc and l.moment >= u.moment
)

select
  method,
  vc,
  moment,
  coalesce(lag(room) over (partition by method, vc order by moment), room)::bigint as room_before,
  room::bigint as room_after
from cohort_room
union all
select
  q.method,
  q.vc,
  u.moment,
  q.gpus - u.gpus_before as room_before,
  q.gpus - u.gpus_after as room_after
from vc_quotas as q
anti join members using (method, vc)
inner join vc_use as u using (vc)
union all
select
  q.method,
  q.vc,
  0 as moment,
  q.gpus as room_before,
  q.gpus as room_after
from vc_quotas as q
anti join members using (method, vc)
