-- Which jobs make up the workload: which can be replayed, for how long, and why not the others?
-- One row per job.
--   job_id            job
--   vc                virtual cluster
--   user              who submitted it
--   gpus              gang size
--   status            how it ended
--   submitted_at      when it was submitted
--   first_started_at  first start of its attempts
--   run_s             its run time under the run policy; null: not known
--   service_s         sum of its attempts: what it needs of its GPUs; null: not known
--   censored          true when it still ran as the log ended: the run time is a lower bound
--   gpu_frac          share of each GPU that it asks for, above 0 to 1
--   gpu_h             run_s on its gang, in GPU hours; null: not known
--   left_out          why it is no part of the workload; null: it is
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
