-- How long did each job take from its submission to its end?
-- One row per job that ended and has a known run time.
--   job_id        identifier of the job
--   vc            virtual cluster
--   user          user who submitted the job
--   gpus          gang size
--   submitted_at  time at which the job was submitted
--   jct_s         job completion time: submission to end of the last attempt
--   served_s      seconds that the job's attempts ran in sum
--   wait_s        seconds from submission to the last end during which no attempt ran
--   slowdown      jct_s divided by served_s, or by a minute for shorter jobs; at least 1
select
  job_id,
  vc,
  user,
  gpus,
  submitted_at,
  seconds_between(submitted_at, last_ended_at) as jct_s,
  sum_s as served_s,
  jct_s - sum_s as wait_s,
  greatest(jct_s / greatest(sum_s, 60), 1) as slowdown
from job_runs
where not censored and sum_s is not null and last_ended_at >= submitted_at
