-- How long do jobs run, by gang size?
-- One row per (gang, percentile).
--   gang        gang-size bucket: 1, 2-4, 5-8, >8
--   jobs        jobs in the bucket with a trusted run time
--   censored    of these, jobs that still ran as the log ended
--   percentile  0 to 100
--   run_s       run time in seconds that this share of jobs does not exceed (Kaplan and Meier,
--               1958: a job that still ran counts as longer than it was seen); null: the log
--               ends too early to tell
with runs as (
  select
    gang_bucket(gpus) as gang,
    run_s,
    censored
  from job_runs
  where gang is not null and run_s is not null and flag is null
),

at_times as (
  select
    gang,
    run_s,
    count(*) filter (where not censored) as ended,
    count(*) as seen
  from runs
  group by all
),

risks as (
  select
    *,
    -- a job is at risk until it ends or is last seen
    sum(seen) over (partition by gang order by run_s desc) as at_risk
  from at_times
),

survival as (
  select
    gang,
    run_s,
    ended,
    1 - product(1 - ended / at_risk) over (partition by gang order by run_s) as ended_frac
  from risks
),

sizes as (
  select
    gang,
    count(*) as jobs,
    count(*) filter (where censored) as censored
  from runs
  group by all
),

grid as (
  select
    *,
    unnest(range(101)) as percentile
  from sizes
),

-- steps of the curve: times at which a job ended
steps as (
  select *
  from survival
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
