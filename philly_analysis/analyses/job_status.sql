-- How do jobs end, by count and by GPU time?
-- One row per status.
--   status     status with which the job ended; (none): not recorded
--   jobs       jobs
--   jobs_pct   share of all jobs, %
--   gpu_h      GPU hours allocated to the jobs' attempts, up to the end of the log for a running
--              attempt
--   gpu_h_pct  share of all GPU hours, %; null: no GPU hours
--   running    jobs that were still running at the end of the log
select
  coalesce(status, '(none)') as status,
  count(*) as jobs,
  100.0 * count(*) / sum(count(*)) over () as jobs_pct,
  coalesce(total(gpu_h), 0) as gpu_h,
  100 * coalesce(total(gpu_h), 0) / nullif(sum(coalesce(total(gpu_h), 0)) over (), 0) as gpu_h_pct,
  count(*) filter (where censored) as running
from job_runs
group by all
order by all
