-- How long do jobs run and attempts wait, by user, virtual cluster and week?
-- One row per (what, kind, name).
--   what     run time: jobs; wait: attempts
--   kind     user, vc or week
--   name     user, virtual cluster, or the Monday that the week of submission, or of the wait's
--            begin, starts with
--   n        jobs or attempts with a trusted time
--   running  of these, jobs that still ran as the log ended, counted with the time seen
--   p5_s     time in seconds that 5 % do not exceed; likewise the next ones
--   p25_s    25 %
--   p50_s    half
--   p75_s    75 %
--   p95_s    95 %
--   p99_s    99 %
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

members as (
  select
    what,
    unnest(['user', 'vc', 'week']) as kind,
    unnest([
      coalesce("user", '(none)'),
      coalesce(vc, '(none)'),
      strftime(date_trunc('week', began_at), '%Y-%m-%d')
    ]) as name,
    censored,
    time_s
  from times
),

spreads as (
  select
    what,
    kind,
    name,
    count(*) as n,
    count(*) filter (where censored) as running,
    quantile_cont(time_s, [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]) as p
  from members
  group by all
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
