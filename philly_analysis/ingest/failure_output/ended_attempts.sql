-- Which attempts ended on a machine just after a kernel event?
-- One row per attempt.
select distinct
  job_id,
  attempt
from attempts
inner join placements using (job_id, attempt)
where
  placements.machine_id = $machine
  and $at >= attempts.started_at
  and attempts.ended_at between $at::timestamp - interval 1 minute and $until
order by all
