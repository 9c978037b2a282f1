-- Scheduling attempts of the Philly log.
-- One row per attempt listed in an entry of cluster_job_log.
select
  job_id,
  attempt,
  started_at,
  ended_at,
  nullif(gpus, 0) as gpus,
  case
    -- jobs of August 2017 all start in this second, when the log begins
    when started_at = timestamp '2017-09-02 03:45:02' then 'fake_start'
    when started_at < max(ended_at) over earlier then 'overlaps_previous'
  end as flag,
  'cluster_job_log' as source_file,
  source_line,
  element::varchar as raw,
  case
    when coalesce(json_type(element), '') <> 'OBJECT' then 'the attempt is not an object'
    when again then 'its job stands earlier in the log'
    when starts is not null and started_at is null then 'start_time is not a time'
    when ends is not null and ended_at is null then 'end_time is not a time'
    when ended_at < started_at then 'it ended before it started'
  end as reject
from log_attempts
window earlier as (
  partition by source_line order by attempt rows between unbounded preceding and 1 preceding
)
