-- Attempts of a Kubernetes cluster: admissions of Kueue, and runs of Jobs and pods.
-- One row per attempt. An attempt that was deleted before a snapshot showed its end has a flag.
select
  job_id,
  attempt,
  moment(started_s) as started_at,
  moment(ended_s) as ended_at,
  gpus,
  end_reason,
  exit_code,
  moment(eligible_s) as eligible_at,
  case when deleted then 'deleted_between_snapshots' end as flag,
  source_file,
  source_line,
  job_id as raw,
  null::varchar as reject
from runs
