-- How do jobs end, by count and by GPU time?
-- One row per status.
--   status    how it ended; (none): not known
--   jobs      jobs
--   jobs_pct  share of all jobs
--   gpu_h     GPU hours allocated to their attempts; up to the end of the log where one still ran
--   gpu_h_pct  share of all GPU hours; null where there are none
--   running   of these jobs, those that still ran as the log ended
select
  coalesce(status, '(none)') as status,
  count(*) as jobs,
  100.0 * count(*) / sum(count(*)) over () as jobs_pct,
  coalesce(sum(gpu_h), 0) as gpu_h,
  100 * coalesce(sum(gpu_h), 0) / nullif(sum(coalesce(sum(gpu_h), 0)) over (), 0) as gpu_h_pct,
  count(*) filter (where censored) as running
from job_runs
group by all
order by all
