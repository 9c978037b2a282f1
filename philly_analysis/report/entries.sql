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
    coalesce(idle_h, 0) + coalesce(failed_h, 0) + coalesce(wait_h * gpus, 0) as lost_h,
    lower(status) in ('failed', 'unsuccessful') as failed
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
    count(*) as jobs,
    -- rounded, because the order of a sum's terms differs between runs
    round(total(gpu_h * part_of_job), 9) as gpu_h,
    round(total(idle_h::double * part_of_job), 9) as idle_h,
    round(total(failed_h::double * part_of_job), 9) as failed_h,
    count(*) filter (where failed) as failed_jobs
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
    *,
    row_number() over () as number
  from sums
  semi join several using (kind)
  where name <> '(none)'
  qualify
    row_number() over (partition by kind order by gpu_h desc, name asc)
    <= case kind when 'account' then 50 else 150 end
),

hours as materialized (
  select
    names.number,
    j.job_id,
    j.part_of_job,
    j.wait_h,
    j.cause,
    j.reason,
    round(j.lost_h * j.part_of_job, 9) as lost_h
  from named_jobs as j
  inner join names using (kind, name)
),

waits as (
  select
    number,
    median(wait_h) as wait_h
  from hours
  group by number
),

reasons as (
  select
    number,
    mode(reason order by reason) as reason
  from hours
  where reason is not null
  group by number
),

waits_by_cause as (
  select
    number,
    cause,
    round(total(wait_h), 9) as wait_h
  from hours
  where cause is not null
  group by number, cause
),

causes as (
  select
    number,
    arg_min(cause, (-wait_h, cause)) as cause
  from waits_by_cause
  where wait_h > 0
  group by number
),

worst as (
  select
    number,
    unnest(
      min_by(struct_pack(job_id, part_of_job, lost_h), (-lost_h, job_id), 10), recursive := true
    )
  from hours
  where lost_h > 0
  group by number
)

select
  names.kind,
  names.name,
  names.jobs,
  names.gpu_h,
  names.idle_h,
  names.failed_h,
  waits.wait_h as median_wait_h,
  names.failed_jobs,
  reasons.reason,
  causes.cause,
  jobs.job_id as job,
  jobs."user",
  jobs.account,
  jobs.gpus,
  jobs.submitted_at,
  jobs.status,
  jobs.gpu_h * worst.part_of_job as job_gpu_h,
  jobs.idle_h::double * worst.part_of_job as job_idle_h,
  jobs.failed_h::double * worst.part_of_job as job_failed_h,
  jobs.wait_h as job_wait_h,
  jobs.cause as job_cause,
  jobs.reason as job_reason
from names
left join waits using (number)
left join reasons using (number)
left join causes using (number)
left join worst using (number)
left join jobs
  on worst.job_id = jobs.job_id and jobs.first
order by
  list_position(['user', 'account', 'server'], names.kind) asc,
  names.gpu_h desc,
  names.name asc,
  worst.lost_h desc,
  worst.job_id asc
