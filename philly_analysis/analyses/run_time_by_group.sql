-- How long do jobs run, by user, virtual cluster and week?
-- One row per (kind, name).
--   kind     user, vc or week
--   name     user, virtual cluster, or the Monday that the week of submission starts with
--   jobs     jobs with a trusted run time
--   running  of these, jobs that still ran as the log ended, counted with the time seen
--   p5_s     run time in seconds that 5 % do not exceed; likewise the next ones; lower bounds
--            where jobs still ran
--   p25_s    25 %
--   p50_s    half
--   p75_s    75 %
--   p95_s    95 %
--   p99_s    99 %
select
  kind,
  name,
  n as jobs,
  running,
  p5_s,
  p25_s,
  p50_s,
  p75_s,
  p95_s,
  p99_s
from spreads_by_group
where what = 'run time'
order by all
