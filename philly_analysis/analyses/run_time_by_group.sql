-- How long do jobs run, by user, virtual cluster and week?
-- One row per (kind, name).
--   kind     kind of group: user, vc or week
--   name     user, virtual cluster, or Monday of the week in which the job was submitted
--   jobs     jobs with a trusted run time
--   running  jobs that were still running at the end of the log, counted with the run time so far
--   p5_s     5th percentile of the run time in seconds; a lower bound where jobs are still running
--   p25_s    25th percentile of the run time in seconds; a lower bound where jobs are still running
--   p50_s    50th percentile of the run time in seconds; a lower bound where jobs are still running
--   p75_s    75th percentile of the run time in seconds; a lower bound where jobs are still running
--   p95_s    95th percentile of the run time in seconds; a lower bound where jobs are still running
--   p99_s    99th percentile of the run time in seconds; a lower bound where jobs are still running
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
