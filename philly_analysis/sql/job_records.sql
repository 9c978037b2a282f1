-- What does the log record about each job and its attempts?
-- One row per job.
--   job_id        identifier of the job
--   vc            virtual cluster
--   user          user who submitted the job
--   gpus          gang size
--   submitted_at  time at which the job was submitted
--   eligible_at   time from which the job waits only for resources
--   status        status with which the job ended
--   cpus          CPUs that the job requested
--   mem_gb        memory that the job requested, in GB
--   time_limit_s  time limit of the job in seconds
--   job_type      kind of job
--   cluster       cluster that ran the job
--   scheduler_id  identifier of the job in the scheduler
--   account       account that is charged for the job
--   qos           quality of service
--   pool          partition or queue
--   gpu_model     GPU model that the job requested
--   servers       servers that the job requested; null: not recorded, or any number
--   gpu_frac      share of each GPU that the job requests, above 0 to 1
--   flag          reason for which the times are not trusted; null: the times are trusted
--   started_at    first start of the job's attempts
--   ended_at      last recorded end of the job's attempts
--   run_s         seconds that the job's attempts ran in sum; null: no run time is known
--   attempts      number of attempts
with runs as (
  select
    job_id,
    min(started_at) as started_at,
    max(ended_at) as ended_at,
    sum(coalesce(run_s, seconds_between(started_at, ended_at))) as run_s,
    count(*) as attempts
  from attempts
  group by job_id
)

select
  jobs.job_id,
  jobs.vc,
  jobs.user,
  jobs.gpus,
  jobs.submitted_at,
  jobs.eligible_at,
  jobs.status,
  jobs.cpus,
  jobs.mem_gb,
  jobs.time_limit_s,
  jobs.job_type,
  jobs.cluster,
  jobs.scheduler_id,
  jobs.account,
  jobs.qos,
  jobs.pool,
  jobs.gpu_model,
  jobs.servers,
  jobs.gpu_frac,
  jobs.flag,
  runs.started_at,
  runs.ended_at,
  runs.run_s,
  coalesce(runs.attempts, 0) as attempts
from jobs
left join runs using (job_id)
order by jobs.submitted_at, jobs.job_id
