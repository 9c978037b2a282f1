-- Which rows does the log flag, and why?
-- One row per (what, flag).
--   what  rows that are counted: jobs or attempts
--   flag  reason for which the times are not trusted
--   n     number of flagged rows
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
