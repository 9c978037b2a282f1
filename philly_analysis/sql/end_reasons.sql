-- How does the log say that attempts on GPUs ended?
-- One row per way of ending.
--   end_reason  how they ended; null: the log does not say
--   attempts    attempts
select
  end_reason,
  count(*) as attempts
from attempts
inner join gpu_jobs using (job_id)
group by all
