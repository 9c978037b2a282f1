-- How long do jobs run and attempts wait, by user, virtual cluster and week?
-- One row per (what, kind, name).
--   what     kind of time: run time (of jobs) or wait (of attempts)
--   kind     kind of group: user, vc or week
--   name     user, virtual cluster, or Monday of the week in which the job was submitted or the
--            wait began
--   n        jobs or attempts with a trusted time
--   running  jobs that were still running at the end of the log, counted with the run time so far
--   p5_s     5th percentile of the time in seconds
--   p25_s    25th percentile of the time in seconds
--   p50_s    50th percentile of the time in seconds
--   p75_s    75th percentile of the time in seconds
--   p95_s    95th percentile of the time in seconds
--   p99_s    99th percentile of the time in seconds
with times as (
  select
    'run time' as what,
    "user",
    vc,
    submitted_at as began_at,
    censored,
    run_s as time_s
  from trusted_runs
  union all by name
  select
    'wait' as what,
    "user",
    vc,
    since_at as began_at,
    false as censored,
    wait_s as time_s
  from trusted_waits
),

named_times as (
  select
    what,
    coalesce("user", '(none)') as "user",
    coalesce(vc, '(none)') as vc,
    date_trunc('week', began_at)::date as week,
    censored,
    time_s
  from times
),

spreads as (
  select
    what,
    case when "user" is not null then 'user' when vc is not null then 'vc' else 'week' end as kind,
    coalesce("user", vc, week::varchar) as name,
    count(*) as n,
    count(*) filter (where censored) as running,
    quantile_cont(time_s, [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]) as p
  from named_times
  group by grouping sets ((what, "user"), (what, vc), (what, week))
)

select
  what,
  kind,
  name,
  n,
  running,
  p[1] as p5_s,
  p[2] as p25_s,
  p[3] as p50_s,
  p[4] as p75_s,
  p[5] as p95_s,
  p[6] as p99_s
from spreads
