-- Jobs of an accounting log.
-- One row per job: the request of its latest record, its status by its last attempt.
with last_records as (
  select
    job_id,
    max_by(status, attempt) as status
  from records
  where reject is null
  group by job_id
),

sizes as (
  select
    job_id,
    max(gpus) as gpus
  from allocations
  group by job_id
),

deletions as (
  select distinct job_id
  from records
  where event = 'deleted' and job_id is not null
)

select
  r.job_id,
  r.vc,
  r.user,
  sizes.gpus,
  moment(r.life_s) as submitted_at,
  moment(greatest(r.eligible_s, r.life_s)) as eligible_at,
  case
    when last_records.status <> 'Pass' and deletions.job_id is not null then 'Killed'
    when deletions.job_id is not null and last_records.status is null then 'Killed'
    else last_records.status
  end as status,
  r.cpus,
  r.mem_gb,
  r.time_limit_s,
  r.account,
  r.gpu_model,
  r.source_file,
  r.source_line,
  r.raw,
  null::varchar as reject
from records as r
inner join last_records using (job_id)
inner join sizes using (job_id)
left join deletions using (job_id)
where r.reject is null
qualify row_number() over (partition by r.job_id order by r.attempt desc) = 1
