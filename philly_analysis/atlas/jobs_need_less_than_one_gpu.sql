-- How many jobs ask for less than one GPU?
-- One row per (user, day, kind) of jobs whose gang size is known.
--   user  who submitted it
--   day   day of its submission, UTC
--   kind  none, part (of one GPU), or whole
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
