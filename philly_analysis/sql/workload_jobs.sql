-- materialized by job_id
-- Which jobs make up the workload, how long do the jobs run, and why are other jobs excluded?
-- One row per job.
--   job_id            identifier of the job
--   vc                virtual cluster
--   user              user who submitted the job
--   gpus              gang size
--   status            status with which the job ended
--   submitted_at      time at which the job was submitted
--   first_started_at  first start of the job's attempts
--   run_s             run time in seconds under the trace's run policy; null: not known
--   service_s         seconds that the job's attempts ran in sum; null: not known
--   censored          true when the job was still running at the end of the log: the run times are
--                     lower bounds
--   gpu_frac          share of each GPU that the job requests, above 0 to 1
--   gpu_h             run_s times the gang's GPUs, in GPU hours; null: not known
--   left_out          reason for which the job is excluded from the workload; null: included
select
  jobs.job_id,
  jobs.vc,
  jobs.user,
  jobs.gpus,
  jobs.status,
  jobs.submitted_at,
  job_runs.first_started_at,
  job_runs.run_s,
  job_runs.sum_s as service_s,
  coalesce(job_runs.censored, false) as censored,
  coalesce(jobs.gpu_frac, 1) as gpu_frac,
  job_runs.run_s * jobs.gpus * coalesce(jobs.gpu_frac, 1) / 3600 as gpu_h,
  coalesce(
    case when jobs.gpus = 0 then 'no GPUs asked for' end,
    replace(job_runs.flag, '_', ' '),
    case
      when job_runs.attempts = 0 then 'no attempt'
      when job_runs.sum_s is null then 'no attempt has a start'
      when jobs.gpus is null then 'gang size not known'
      when job_runs.run_s is null then 'run time not known'
    end
  ) as left_out
from jobs
left join job_runs using (job_id)
