-- How did attempts on GPUs end, by the log?
-- One row per recorded end.
--   end_reason  recorded end of the attempts; null: not recorded
--   attempts    attempts
select
  end_reason,
  count(*) as attempts
from attempts
anti join cpu_only_jobs using (job_id)
group by all
