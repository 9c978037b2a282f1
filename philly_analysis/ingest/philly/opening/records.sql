-- How many jobs, attempts and placements does the job log have?
-- One row. A detail without a list of GPUs counts as one placement.
select
  count(*) as jobs,
  coalesce(sum(json_array_length(entry, '$.attempts')), 0) as attempts,
  coalesce(sum(list_sum(list_transform(
    json_extract(entry, '$.attempts[*].detail[*]'),
    lambda d: greatest(json_array_length(d, '$.gpus'), 1)
  ))), 0) as placements
from cluster_job_log
