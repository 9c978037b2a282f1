-- How long do attempts wait, by user, virtual cluster and week?
-- One row per (kind, name).
--   kind    user, vc or week
--   name    user, virtual cluster, or the Monday that the week of the wait's begin starts with
--   waits   attempts with a trusted wait
--   p5_s    wait in seconds that 5 % do not exceed; likewise the next ones
--   p25_s   25 %
--   p50_s   half
--   p75_s   75 %
--   p95_s   95 %
--   p99_s   99 %
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
