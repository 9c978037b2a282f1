-- How long did each job take from its submission to its end?
-- One row per job that ended and ran for a known time.
--   job_id        job
--   vc            virtual cluster
--   user          who submitted it
--   gpus          gang size
--   submitted_at  when it was submitted
--   jct_s         job completion time: submission to end of the last attempt
--   served_s      of these, in which it ran (its attempts added up)
--   wait_s        the others
--   slowdown      jct_s relative to served_s, or to a minute for shorter jobs; at least 1
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
