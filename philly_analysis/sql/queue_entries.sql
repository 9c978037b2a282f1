-- When did each job enter the queue, start and end?
-- One row per job in gpu_jobs with trusted times and a known gang size. The job started, gave up at
-- a known time, or waits at the end of the log.
--   job_id        identifier of the job
--   vc            virtual cluster
--   account       account or project that is charged for the job
--   user          user who submitted the job
--   qos           quality of service that the job requests
--   gpus          gang size
--   servers       servers that the job requests
--   cpus          CPU cores that the job requests
--   mem_gb        host memory that the job requests
--   time_limit_s  run time in seconds after which the job is killed
--   entered_s     time from which the job waits only for resources, in seconds since 1970
--   started_s     first start of the job, in seconds since 1970; null: the job never started
--   left_s        time at which the job left the queue, by a start or without one, in seconds since
--                 1970; null: the job waits at the end of the log
--   ended_s       last end of the job, in seconds since 1970; null: running, waiting, or not known
with moments as (
  select
    job_id,
    min(started_at) as started_at,
    case
      when bool_and(started_at is null or ended_at is not null) then max(ended_at)
    end as ended_at,
    arg_min_null(eligible_at, attempt) as eligible_at,
    min(flag) as flag,
    bool_or(run_s is not null and started_at is null) as start_unknown
  from attempts
  group by job_id
),

entries as (
  select
    jobs.job_id,
    jobs.vc,
    jobs.account,
    jobs."user",
    jobs.qos,
    jobs.gpus,
    jobs.servers,
    jobs.cpus,
    jobs.mem_gb,
    jobs.time_limit_s,
    greatest(jobs.submitted_at, m.eligible_at, jobs.eligible_at) as entered_at,
    m.started_at,
    coalesce(m.started_at, m.ended_at) as left_at,
    m.ended_at,
    jobs.status
  from jobs
  left join moments as m using (job_id)
  where
    jobs.gpus > 0
    and jobs.flag is null
    and m.flag is null
    and not coalesce(m.start_unknown, false)
)

select
  job_id,
  vc,
  account,
  "user",
  qos,
  gpus,
  servers,
  cpus,
  mem_gb,
  time_limit_s,
  epoch_us(entered_at) / 1e6 as entered_s,
  epoch_us(started_at) / 1e6 as started_s,
  epoch_us(left_at) / 1e6 as left_s,
  case when started_at is not null then epoch_us(ended_at) / 1e6 end as ended_s
from entries
where
  (left_at is null and status is null)
  or left_at >= entered_at
