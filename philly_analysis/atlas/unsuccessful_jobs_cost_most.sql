-- What do jobs cost, by how they ended?
-- One row per (user, day, status) of jobs on GPUs whose end is known.
--   user    who submitted it
--   day     day of its submission, UTC
--   status  how it ended
--   jobs    jobs
--   gpu_h   GPU hours allocated to their attempts
select
  "user",
  submitted_at::date as day,
  status,
  count(*) as jobs,
  coalesce(sum(gpu_h), 0) as gpu_h
from job_runs
where status is not null and gpus is not null and flag is null
group by all
order by all
