-- What share of jobs has ended by each run time, those that still ran included?
-- One row per (gang, run_s), and per run_s over all gangs.
--   gang        gang-size bucket; all: any
--   run_s       a run time at which some job ended or was last seen
--   ended       jobs that ended then
--   ended_frac  share of jobs that run no longer, 0 to 1 (Kaplan and Meier, 1958: a job that still
--               ran counts as longer than it was seen)
with at_times as (
  select
    coalesce(gang, 'all') as gang,
    run_s,
    count(*) filter (where not censored) as ended,
    count(*) as seen
  from trusted_runs
  group by grouping sets ((gang, run_s), (run_s))
),

risks as (
  select
    *,
    -- a job is at risk until it ends or is last seen
    sum(seen) over (partition by gang order by run_s desc) as at_risk
  from at_times
)

select
  gang,
  run_s,
  ended,
  1 - product(1 - ended / at_risk) over (partition by gang order by run_s) as ended_frac
from risks
