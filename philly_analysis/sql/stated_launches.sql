-- materialized by job_id
-- How long before its start did each attempt get its GPUs, by the scheduler's statement?
-- One row per started attempt of which the scheduler stated that its GPUs were reserved.
--   job_id     identifier of the job
--   attempt    number of the attempt within its job, from 1
--   launch_us  microseconds from the reservation to the start
select
  s.job_id,
  s.attempt,
  q.until_us - min(s.since_us) as launch_us
from queued_spans as s
inner join queued_attempts as q using (job_id, attempt)
where q.outcome = 'started' and s.kind in ('launch', 'admission check')
group by s.job_id, s.attempt, q.until_us
having max(s.until_us) = q.until_us
