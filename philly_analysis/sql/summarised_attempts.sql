-- How busy were the GPUs of each attempt on average, by a monitor's summary?
-- One row per attempt with a summary of its GPUs.
--   job_id    identifier of the job
--   attempt   number of the attempt within its job, from 1
--   user      user who submitted the job
--   status    status with which the job ended; unknown: not recorded
--   gpus      GPUs allocated to the attempt; where not recorded, the gang size of the job
--   mean_pct  mean utilisation of the GPUs in the summary, %
--   gpu_h     GPU hours that the attempt ran for; null: not known
with means as (
  select
    job_id,
    attempt,
    total(util_pct * coalesce(gpus, 1)) / total(coalesce(gpus, 1)) as mean_pct,
    max(seconds) as seconds
  from summaries
  where util_pct is not null
  group by job_id, attempt
)

select
  m.job_id,
  m.attempt,
  jobs.user,
  coalesce(jobs.status, 'unknown') as status,
  coalesce(a.gpus, jobs.gpus) as gpus,
  m.mean_pct,
  coalesce(a.gpus, jobs.gpus) * coalesce(m.seconds, runs.run_s) / 3600 as gpu_h
from means as m
inner join attempts as a using (job_id, attempt)
inner join jobs using (job_id)
left join attempt_runs as runs
  on m.job_id = runs.job_id and m.attempt = runs.attempt and not runs.running
where coalesce(a.gpus, jobs.gpus) > 0
