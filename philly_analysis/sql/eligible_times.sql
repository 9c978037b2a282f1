-- Does the log have times at which jobs became eligible?
-- One row.
--   recorded  true if a job has one
select count(eligible_at) > 0 as recorded
from jobs
