-- How long do jobs run, by gang size?
-- One row per (gang, percentile).
--   gang        gang-size bucket
--   jobs        jobs in the bucket with a trusted run time
--   censored    jobs that were still running at the end of the log
--   percentile  percentile, 0 to 100
--   run_s       run time in seconds that `percentile` % of the jobs do not exceed (see
--               run_survival); null: beyond the length of the log
with grid as (
  select
    gang,
    count(*) as jobs,
    count(*) filter (where censored) as censored,
    unnest(range(101)) as percentile
  from trusted_runs
  group by gang
),

-- steps of the curve: times at which a job ended
steps as (
  select *
  from run_survival
  where ended > 0
)

select
  grid.gang,
  grid.jobs,
  grid.censored,
  grid.percentile,
  steps.run_s
from grid
asof left join steps
  on
    grid.gang = steps.gang
    -- shares are counts over counts: rounding must not push one past its percentile
    and grid.percentile / 100.0 - 1e-9 <= steps.ended_frac
order by all
