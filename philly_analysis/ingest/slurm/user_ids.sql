-- kept
-- Which users have which number?
-- One row per cluster, number and user.
select distinct
  cluster,
  uid,
  "user"
from records
where uid is not null and "user" is not null
