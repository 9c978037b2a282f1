-- Which virtual clusters borrow quota, and which wait although their own quota would do?
-- One row per virtual cluster of a cohort that has jobs.
--   vc               virtual cluster
--   cohort           cohort: virtual clusters that lend quota to one another
--   quota            GPUs of the virtual cluster's quota
--   borrowing_limit  GPUs beyond its quota that the virtual cluster may take; null: no limit
--   lending_limit    GPUs of its quota that others may take; null: the whole quota
--   gpu_h            GPU hours that the virtual cluster used
--   borrowed_gpu_h   GPU hours beyond the quota
--   most_borrowed    most GPUs beyond the quota at once
--   quota_wait_h     hours that attempts waited for quota
--   starved_h        hours that attempts waited for quota although the gang would have fitted the
--                    virtual cluster's own quota: others had borrowed the quota
with members as (
  select
    q.vc,
    c.cohort,
    q.gpus as quota,
    c.borrowing_limit,
    c.lending_limit
  from vc_quotas as q
  inner join given_cohorts as c using (vc)
  semi join gpu_jobs as j
    on q.vc = j.vc
  where q.method = 'given'
),

use_spans as (
  select
    vc,
    gpus_after as gpus,
    (lead(moment) over (partition by vc order by moment) // 2 - moment // 2) / 3.6e9 as hours
  from vc_use
),

used as (
  select
    m.vc,
    total(u.gpus * u.hours) as gpu_h,
    total(greatest(u.gpus - m.quota, 0) * u.hours) as borrowed_gpu_h,
    max(greatest(u.gpus - m.quota, 0)) as most_borrowed
  from members as m
  inner join use_spans as u using (vc)
  where u.hours > 0
  group by m.vc
),

quota_waits as (
  select
    q.vc,
    total(w.wait_s) / 3600 as quota_wait_h
  from wait_causes as w
  inner join queued_attempts as q using (job_id, attempt)
  where w.method = 'given' and w.cause = 'quota'
  group by q.vc
),

rooms as (
  select
    r.vc,
    r.moment // 2 as since_us,
    lead(r.moment) over (partition by r.vc order by r.moment) // 2 as until_us,
    r.room_after as room,
    m.quota - coalesce(u.gpus_after, 0) as unused
  from quota_room as r
  inner join members as m using (vc)
  asof left join vc_use as u
    on r.vc = u.vc and r.moment >= u.moment
  where r.method = 'given'
),

starved as (
  select
    c.vc,
    sum(least(q.until_us, coalesce(r.until_us, q.until_us)) - greatest(q.eligible_us, r.since_us))
    / 3.6e9 as starved_h
  from contending_attempts as q
  inner join queued_attempts as c using (job_id, attempt)
  inner join rooms as r
    on
      c.vc = r.vc
      and q.eligible_us < coalesce(r.until_us, q.until_us)
      and q.until_us > r.since_us
      and c.gpus > r.room
      and c.gpus <= r.unused
  group by c.vc
)

select
  members.vc,
  members.cohort,
  members.quota,
  members.borrowing_limit,
  members.lending_limit,
  coalesce(used.gpu_h, 0) as gpu_h,
  coalesce(used.borrowed_gpu_h, 0) as borrowed_gpu_h,
  coalesce(used.most_borrowed, 0)::bigint as most_borrowed,
  coalesce(quota_waits.quota_wait_h, 0) as quota_wait_h,
  coalesce(starved.starved_h, 0) as starved_h
from members
left join used using (vc)
left join quota_waits using (vc)
left join starved using (vc)
order by all
