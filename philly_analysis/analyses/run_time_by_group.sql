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
with members as (
  select
    unnest(['user', 'vc', 'week']) as kind,
    unnest([
      coalesce(j.user, '(none)'),
      coalesce(j.vc, '(none)'),
      strftime(date_trunc('week', j.submitted_at), '%Y-%m-%d')
    ]) as name,
    j.run_s,
    j.censored
  from job_runs as j
  where j.flag is null and j.gpus > 0 and j.run_s is not null
)

select
  kind,
  name,
  count(*) as jobs,
  count(*) filter (where censored) as running,
  quantile_cont(run_s, 0.05) as p5_s,
  quantile_cont(run_s, 0.25) as p25_s,
  quantile_cont(run_s, 0.5) as p50_s,
  quantile_cont(run_s, 0.75) as p75_s,
  quantile_cont(run_s, 0.95) as p95_s,
  quantile_cont(run_s, 0.99) as p99_s
from members
group by all
order by all
