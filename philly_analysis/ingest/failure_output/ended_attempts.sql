-- Which attempts held the machine of a kernel event, and ended just after it?
-- One row per event and attempt.
select distinct
  event,
  job_id,
  attempts.attempt
from kernel_events
inner join placements using (machine_id)
inner join attempts using (job_id, attempt)
where
  kernel_events.moment >= attempts.started_at
  and attempts.ended_at between kernel_events.moment - interval 1 minute
  and kernel_events.moment + interval 10 minute
order by all
