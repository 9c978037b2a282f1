-- Which notes does the trace of a table need?
-- One row per note.
select format('{:,} of {:,} jobs asked for no GPU.', count(*) filter (gpus = 0), count(*)) as note
from jobs
having count(*) filter (gpus = 0) > 0
union all
select format(
  '{:,} of {:,} jobs have no start: how long they waited is not known.',
  count(*) filter (started_at is null), count(*)
)
from attempts
having count(*) filter (started_at is null) > 0
