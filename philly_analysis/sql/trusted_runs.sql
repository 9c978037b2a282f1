-- Which run times of jobs can be trusted?
-- One row per job of the workload; exclusions counts the excluded jobs.
--   job_id        identifier of the job
--   vc            virtual cluster
--   user          user who submitted the job
--   gpus          gang size
--   gang          gang-size bucket
--   submitted_at  time at which the job was submitted
--   run_s         run time in seconds under the trace's run policy
--   censored      true when the job was still running at the end of the log: run_s is a lower bound
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
