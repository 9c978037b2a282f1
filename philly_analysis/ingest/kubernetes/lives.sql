-- materialized
-- Which job identifier has each Workload, Job or pod?
-- One row per job. A name that is used again is extended by the time of creation.
with named as (
  select
    life,
    name,
    submitted_s as created_s
  from latest_workloads
  union all
  select
    life,
    name,
    created_s
  from plain_runs
)

select
  life,
  name || case
    when row_number() over (partition by name order by created_s, life) > 1
      then '@' || strftime(moment(created_s), '%Y-%m-%dT%H:%M:%S')
    else ''
  end as job_id
from named
