-- materialized by job_id
-- How long before its start did each attempt get its GPUs?
-- One row per started attempt whose launch the scheduler stated, or that waited while eligible in a
-- pool of usual_launches.
--   job_id     identifier of the job
--   attempt    number of the attempt within its job, from 1
--   launch_us  microseconds from the allocation to the start, as in stated_launches; else the
--              usual launch of the pool, or the attempt's wait if shorter
select
  q.job_id,
  q.attempt,
  coalesce(stated.launch_us, least(q.until_us - q.eligible_us, usual.launch_us)) as launch_us
from queued_attempts as q
inner join job_pools using (job_id)
left join usual_launches as usual using (pool)
left join stated_launches as stated using (job_id, attempt)
where
  q.outcome = 'started'
  and q.until_us > q.eligible_us
  and coalesce(stated.launch_us, usual.launch_us) is not null
