-- Why did attempts fail, and after how long?
-- One row per failed attempt whose output is known.
--   reason  reason of the failure
--   gpus    GPUs allocated to the attempt
--   run_s   seconds until the attempt failed; null: not known
select
  failures.reason,
  attempt_runs.gpus,
  case when attempt_runs.ended_at is not null then attempt_runs.run_s end as run_s
from failures
inner join attempt_runs using (job_id, attempt)
order by all
