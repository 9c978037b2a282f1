-- Which numbers and which worst jobs has each name?
-- One row per name and one of its ten worst jobs; one row without a job for a name that has none.
-- Reads `named`, which has one row per job and name: name, part (share of the job's placements that
-- is of the name), and the columns of job_hours, idle_h, failed_h, cause and reason.
with hours as materialized (
  select
    name,
    job_id,
    "user",
    account,
    gpus,
    submitted_at,
    status,
    gpu_h * part as gpu_h,
    idle_h::double * part as idle_h,
    failed_h::double * part as failed_h,
    wait_h,
    cause,
    reason,
    -- worst is the job with most GPU hours idle, lost to failures or waited for
    round(
      (coalesce(idle_h, 0) + coalesce(failed_h, 0) + coalesce(wait_h * gpus, 0)) * part, 9
    ) as lost_h
  from named
),

numbers as (
  select
    name,
    count(*) as jobs,
    -- rounded, because the order of a sum's terms differs between runs
    round(sum(gpu_h), 9) as gpu_h,
    round(sum(idle_h), 9) as idle_h,
    round(sum(failed_h), 9) as failed_h,
    median(wait_h) as wait_h,
    count(*) filter (where lower(status) in ('failed', 'unsuccessful')) as failed_jobs,
    mode(reason order by reason) as reason
  from hours
  group by name
),

waits_by_cause as (
  select
    name,
    cause,
    round(sum(wait_h), 9) as wait_h
  from hours
  where cause is not null
  group by name, cause
),

causes as (
  select
    name,
    arg_min(cause, (-wait_h, cause)) as cause
  from waits_by_cause
  where wait_h > 0
  group by name
),

worst as (
  select
    name,
    unnest(
      min_by(
        struct_pack(
          job := job_id,
          "user",
          account,
          gpus,
          submitted_at,
          status,
          gpu_h,
          idle_h,
          failed_h,
          wait_h,
          cause,
          reason,
          lost_h
        ),
        (-lost_h, job_id),
        10
      )
    ) as job
  from hours
  where lost_h > 0
  group by name
)

select
  numbers.name,
  numbers.jobs,
  numbers.gpu_h,
  numbers.idle_h,
  numbers.failed_h,
  numbers.wait_h as median_wait_h,
  numbers.failed_jobs,
  numbers.reason,
  causes.cause,
  worst.job.job,
  worst.job."user",
  worst.job.account,
  worst.job.gpus,
  worst.job.submitted_at,
  worst.job.status,
  worst.job.gpu_h as job_gpu_h,
  worst.job.idle_h as job_idle_h,
  worst.job.failed_h as job_failed_h,
  worst.job.wait_h as job_wait_h,
  worst.job.cause as job_cause,
  worst.job.reason as job_reason,
  worst.job.lost_h as job_lost_h
from numbers
left join causes using (name)
left join worst using (name)
order by numbers.gpu_h desc, numbers.name asc, worst.job.lost_h desc, worst.job.job asc
