-- Does the log say of any wait why a job waited, or from when on it waited for resources only?
-- One row.
--   recorded  true if an attempt has a reason, or an attempt or a job has a time of eligibility
select
  (select recorded from eligible_times)
  or count(eligible_at) > 0
  or count(nullif(wait_reason, '')) > 0 as recorded
from attempts
