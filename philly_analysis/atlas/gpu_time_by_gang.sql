-- How are jobs and their GPU time distributed over gang sizes?
-- One row per (user, day, gang), over the jobs of the workload, on GPUs.
--   user   who submitted it
--   day    day of its submission, UTC
--   gang   gang-size bucket
--   jobs   jobs
--   gpu_h  GPU hours that they ran for, up to the end of the log
select
  "user",
  submitted_at::date as day,
  gang_bucket(gpus) as gang,
  count(*) as jobs,
  -- in order, so that its last digits do not depend on the order of rows
  sum(gpu_h order by gpu_h) as gpu_h
from workload_jobs
where left_out is null
group by all
order by all
