-- What does the log flag, and why?
-- One row per (what, flag).
--   what  jobs or attempts
--   flag  why their times are not trusted
--   n     how many
select
  'jobs' as what,
  flag,
  count(*) as n
from jobs
where flag is not null
group by all
union all by name
select
  'attempts' as what,
  flag,
  count(*) as n
from attempts
where flag is not null
group by all
