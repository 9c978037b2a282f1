-- How many attempts use less than half of their time limit?
-- One row per (user, gang) of attempts with a time limit.
--   user   who submitted it
--   gang   gang-size bucket
--   runs   attempts
--   loose  of these, attempts that used less than half of their limit
select
  "user",
  gang,
  count(*) as runs,
  count(*) filter (where used_frac < 0.5) as loose
from limited_runs
group by all
order by all
