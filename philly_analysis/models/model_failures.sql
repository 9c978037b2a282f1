-- Why did attempts fail, and after how long?
-- One row per failed attempt whose output is known.
--   reason  why it failed
--   gpus    GPUs allocated to it
--   run_s   seconds until it failed; null: not known
select
  failures.reason,
  attempt_runs.gpus,
  case when attempt_runs.ended_at is not null then attempt_runs.run_s end as run_s
from failures
inner join attempt_runs using (job_id, attempt)
order by all
