-- What is recorded of each job, and of its attempts together?
-- One row per job.
--   job_id        job
--   vc            virtual cluster
--   user          who submitted it
--   gpus          gang size
--   submitted_at  when it was submitted
--   eligible_at   when it could start
--   status        how it ended
--   cpus          CPUs that it asked for
--   mem_gb        memory that it asked for, in GB
--   time_limit_s  its time limit in seconds
--   job_type      kind of job
--   cluster       cluster that ran it
--   scheduler_id  its identifier in the scheduler
--   account       account that it is charged to
--   qos           quality of service
--   pool          partition or queue
--   gpu_model     GPU model that it asked for
--   gpu_frac      share of each GPU that it asks for, above 0 to 1
--   flag          why its times are not trusted; null: nothing known
--   started_at    first start of its attempts
--   ended_at      last recorded end of its attempts
--   run_s         sum of its attempts in seconds; null: none is known
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
  jobs.gpu_frac,
  jobs.flag,
  runs.started_at,
  runs.ended_at,
  runs.run_s,
  coalesce(runs.attempts, 0) as attempts
from jobs
left join runs using (job_id)
order by jobs.submitted_at, jobs.job_id
