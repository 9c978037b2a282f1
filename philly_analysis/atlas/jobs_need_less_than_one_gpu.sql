-- How many jobs request less than one GPU?
-- One row per (user, day, kind), over jobs with a recorded gang size.
--   user  user who submitted the job
--   day   day on which the job was submitted, UTC
--   kind  GPUs of the job: none, part (less than one GPU), or whole
--   jobs  jobs
select
  "user",
  submitted_at::date as day,
  case
    when gpus = 0 then 'none'
    when gpus * coalesce(gpu_frac, 1) < 1 then 'part'
    else 'whole'
  end as kind,
  count(*) as jobs
from jobs
where gpus is not null and flag is null
group by all
order by all
