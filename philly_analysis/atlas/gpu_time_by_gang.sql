-- How are jobs and their GPU time distributed over gang sizes?
-- One row per (user, day, gang), over the jobs of the workload on GPUs.
--   user   user who submitted the job
--   day    day on which the job was submitted, UTC
--   gang   gang-size bucket
--   jobs   jobs
--   gpu_h  GPU hours that the jobs ran for, up to the end of the log
select
  "user",
  submitted_at::date as day,
  gang_bucket(gpus) as gang,
  count(*) as jobs,
  -- ordered, so that the last digits of the sum do not depend on the order of rows
  total(gpu_h) as gpu_h
from workload_jobs
where left_out is null
group by all
order by all
