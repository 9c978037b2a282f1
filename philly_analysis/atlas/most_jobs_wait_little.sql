-- How long does each job wait for its first start?
-- One row per job on GPUs with a trusted wait.
--   day     day on which the job was submitted, UTC
--   wait_s  queueing time in seconds, holds excluded
select
  since_at::date as day,
  wait_s - held_s as wait_s
from trusted_waits
where first
order by all
