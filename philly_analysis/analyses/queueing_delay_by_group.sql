-- How long do attempts wait, by user, virtual cluster and week?
-- One row per (kind, name).
--   kind   kind of group: user, vc or week
--   name   user, virtual cluster, or Monday of the week in which the wait began
--   waits  attempts with a trusted wait
--   p5_s   5th percentile of the wait in seconds
--   p25_s  25th percentile of the wait in seconds
--   p50_s  50th percentile of the wait in seconds
--   p75_s  75th percentile of the wait in seconds
--   p95_s  95th percentile of the wait in seconds
--   p99_s  99th percentile of the wait in seconds
select
  kind,
  name,
  n as waits,
  p5_s,
  p25_s,
  p50_s,
  p75_s,
  p95_s,
  p99_s
from spreads_by_group
where what = 'wait'
order by all
