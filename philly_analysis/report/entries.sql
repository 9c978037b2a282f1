-- Which users, accounts and servers have most GPU hours, with which numbers and worst jobs?
-- One row per name and one of its ten worst jobs; one row without a job for a name that has none.
-- Users and accounts are listed where the log has several. Up to 150 users, 50 accounts and 150
-- servers are listed.
-- Reads `jobs_on_servers`, which has one row per job and server: the columns of job_hours and
-- job_servers, and idle_h, failed_h, cause and reason of the job.
with jobs as materialized (
  select
    *,
    -- worst is the job with most GPU hours idle, lost to failures or waited for
    coalesce(idle_h, 0) + coalesce(failed_h, 0) + coalesce(wait_h * gpus, 0) as lost_h
  from jobs_on_servers
),

named_jobs as not materialized (
  select
    unnest(['user', 'account', 'server']) as kind,
    unnest([if(first, "user", null), if(first, account, null), machine_id]) as name,
    unnest([1, 1, part]) as part_of_job,
    *
  from jobs
),

sums as (
  select
    kind,
    name,
    -- rounded, because the order of a sum's terms differs between runs
    round(total(gpu_h * part_of_job), 9) as gpu_h
  from named_jobs
  where name is not null
  group by kind, name
),

several as (
  select kind
  from sums
  group by kind
  having count(*) > 1 or kind = 'server'
),

names as materialized (
  select
    kind,
    name
  from sums
  semi join several using (kind)
  where name <> '(none)'
  qualify
    row_number() over (partition by kind order by gpu_h desc, name asc)
    <= case kind when 'account' then 50 else 150 end
),

hours as materialized (
  select
    j.kind,
    j.name,
    j.job_id,
    j."user",
    j.account,
    j.gpus,
    j.submitted_at,
    j.status,
    j.gpu_h * j.part_of_job as gpu_h,
    j.idle_h::double * j.part_of_job as idle_h,
    j.failed_h::double * j.part_of_job as failed_h,
    j.wait_h,
    j.cause,
    j.reason,
    round(j.lost_h * j.part_of_job, 9) as lost_h
  from named_jobs as j
  semi join names using (kind, name)
),

numbers as (
  select
    kind,
    name,
    count(*) as jobs,
    round(total(gpu_h), 9) as gpu_h,
    round(total(idle_h), 9) as idle_h,
    round(total(failed_h), 9) as failed_h,
    median(wait_h) as wait_h,
    count(*) filter (where lower(status) in ('failed', 'unsuccessful')) as failed_jobs,
    mode(reason order by reason) as reason
  from hours
  group by kind, name
),

waits_by_cause as (
  select
    kind,
    name,
    cause,
    round(total(wait_h), 9) as wait_h
  from hours
  where cause is not null
  group by kind, name, cause
),

causes as (
  select
    kind,
    name,
    arg_min(cause, (-wait_h, cause)) as cause
  from waits_by_cause
  where wait_h > 0
  group by kind, name
),

worst as (
  select
    kind,
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
  group by kind, name
)

select
  numbers.kind,
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
  worst.job.reason as job_reason
from numbers
left join causes using (kind, name)
left join worst using (kind, name)
order by
  list_position(['user', 'account', 'server'], numbers.kind) asc,
  numbers.gpu_h desc,
  numbers.name asc,
  worst.job.lost_h desc,
  worst.job.job asc
