-- When did the scheduler log begin and end?
-- One row.
--   began_at  first submission
--   ended_at  last moment that the log knows of: jobs without an end were still running then
select
  (select min(submitted_at) from jobs) as began_at,
  greatest(
    (select max(submitted_at) from jobs),
    (select max(started_at) from attempts),
    (select max(ended_at) from attempts)
  ) as ended_at
