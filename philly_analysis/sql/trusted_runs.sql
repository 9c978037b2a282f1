-- Which run times of jobs can be trusted?
-- One row per job of the workload; exclusions counts the others.
--   job_id        job
--   vc            virtual cluster
--   user          who submitted it
--   gpus          gang size
--   gang          gang-size bucket
--   submitted_at  when it was submitted
--   run_s         its run time under the trace's run policy
--   censored      true when it still ran as the log ended: run_s is a lower bound
select
  job_id,
  vc,
  "user",
  gpus,
  gang_bucket(gpus) as gang,
  submitted_at,
  run_s,
  censored
from workload_jobs
where left_out is null
