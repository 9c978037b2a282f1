-- How long were fair-share and fragmentation delay, where quotas are given?
-- One row per (day, gang).
--   day              day on which the wait began, UTC
--   gang             gang-size bucket
--   waits            attempts that waited in a virtual cluster
--   fair_share_s     seconds over the quota of the virtual cluster
--   fragmentation_s  seconds within quota while the gang did not fit on the fewest machines
--   decided_s        fair_share_s plus fragmentation_s
select
  trusted_waits.since_at::date as day,
  trusted_waits.gang,
  count(*) as waits,
  total(causes.fair_share_s) as fair_share_s,
  total(causes.fragmentation_s) as fragmentation_s,
  total(causes.fair_share_s) + total(causes.fragmentation_s) as decided_s
from study_causes as causes
inner join trusted_waits using (job_id, attempt)
where causes.method = 'given' and trusted_waits.wait_s > trusted_waits.held_s
group by all
order by all
