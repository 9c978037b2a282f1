-- How many jobs ask for no GPU?
-- One row per (user, day, kind) of jobs whose gang size is known.
--   user  who submitted it
--   day   day of its submission, UTC
--   kind  with GPUs or without
--   jobs  jobs
select
  "user",
  submitted_at::date as day,
  case when gpus > 0 then 'GPUs' else 'no GPU' end as kind,
  count(*) as jobs
from jobs
where gpus is not null and flag is null
group by all
order by all
