-- materialized by job_id
-- How much of its requested time did each attempt use?
-- One row per attempt that ended, with a time limit, trusted times and a known gang size.
--   job_id        identifier of the job
--   attempt       number of the attempt within its job, from 1
--   user          user who submitted the job
--   gpus          GPUs allocated to the attempt
--   gang          gang-size bucket
--   limit_s       run time in seconds after which the attempt is killed
--   run_s         run time in seconds
--   used_frac     run_s divided by limit_s; above 1 where the scheduler grants more time
--   at_limit      true when the time limit ended the attempt; without a recorded end, when the
--                 attempt ran for limit_s or longer
--   used_gpu_h    GPU hours allocated to the attempt
--   unused_gpu_h  requested but unused GPU hours, from the attempt's end to its time limit
select
  runs.job_id,
  runs.attempt,
  runs.user,
  runs.gpus,
  gang_bucket(runs.gpus) as gang,
  jobs.time_limit_s as limit_s,
  runs.run_s,
  runs.run_s / jobs.time_limit_s as used_frac,
  coalesce(attempts.end_reason = 'time_limit', runs.run_s >= jobs.time_limit_s) as at_limit,
  runs.run_s * runs.gpus * jobs.gpu_frac / 3600 as used_gpu_h,
  greatest(jobs.time_limit_s - runs.run_s, 0) * runs.gpus * jobs.gpu_frac / 3600 as unused_gpu_h
from attempt_runs as runs
inner join gpu_jobs as jobs using (job_id)
inner join attempts using (job_id, attempt)
where
  jobs.time_limit_s is not null
  and runs.gpus > 0
  and runs.run_s is not null
  and not runs.running
  and runs.flag is null
