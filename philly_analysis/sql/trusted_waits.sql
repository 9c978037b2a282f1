-- by job_id
-- Which waits can be trusted?
-- One row per attempt with a trusted wait of a known gang; exclusions counts the other attempts.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   vc          virtual cluster
--   user        user who submitted the job
--   gpus        gang size
--   gang        gang-size bucket
--   first       true for the first attempt, false for a retry
--   since_at    submission, or the end of the attempt before
--   started_at  time at which the attempt got its GPUs
--   wait_s      seconds from since_at to started_at
--   held_s      seconds of the wait before the job was eligible
select
  job_id,
  attempt,
  vc,
  "user",
  gpus,
  gang_bucket(gpus) as gang,
  first,
  since_at,
  started_at,
  wait_s,
  held_s
from waits
where flag is null and gpus is not null
