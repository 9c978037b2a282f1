-- What share of jobs has ended by each run time, running jobs included?
-- One row per (gang, run_s), and one per run_s over all gangs.
--   gang        gang-size bucket; all: every job
--   run_s       run time in seconds at which a job ended or was last seen
--   ended       jobs that ended at this run time
--   ended_frac  share of jobs that run for at most run_s, 0 to 1. A running job counts as longer
--               than the time seen (Kaplan and Meier, 1958)
with jobs_by_run_time as (
  select
    coalesce(gang, 'all') as gang,
    run_s,
    count(*) filter (where not censored) as ended,
    count(*) as seen
  from trusted_runs
  group by grouping sets ((gang, run_s), (run_s))
),

jobs_at_risk as (
  select
    *,
    -- a job is at risk until it ends or is last seen
    sum(seen) over (partition by gang order by run_s desc) as at_risk
  from jobs_by_run_time
)

select
  gang,
  run_s,
  ended,
  1 - product(1 - ended / at_risk) over (partition by gang order by run_s) as ended_frac
from jobs_at_risk
