-- How much of the time that it asked for did each attempt use?
-- One row per attempt that ended, of a gang of known size with a time limit and trusted times.
--   job_id      job
--   attempt     which attempt, from 1
--   user        who submitted it
--   gpus        GPUs allocated
--   gang        gang-size bucket
--   limit_s     run time after which it would have been killed
--   run_s       seconds that it ran
--   used_frac   run_s over limit_s; above 1 where the scheduler grants more
--   at_limit    true when its limit ended it; where the log does not say how it ended, when it ran
--               for as long or longer
--   used_gpu_h  GPU hours allocated to it
--   unused_gpu_h  GPU hours from its end to its limit: others had them, if not by plan
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
