-- How many attempts waited, for how long, and how many for longer than 10 minutes?
-- One row per (day, user, vc, gang) with a wait.
--   day         day on which the waits ended, UTC
--   user        user who submitted the jobs; null: not known
--   vc          virtual cluster
--   gang        gang-size bucket
--   waits       attempts with a trusted wait
--   long        attempts that waited longer than 10 minutes
--   wait_s      seconds that the attempts waited
--   wait_gpu_s  seconds times the GPUs waited for, in GPU-seconds
select
  until_at::date as day,
  "user",
  vc,
  gang_bucket(gpus) as gang,
  count(*) as waits,
  count(*) filter (where wait_s > 600) as long,
  total(wait_s) as wait_s,
  total(wait_s * gpus) as wait_gpu_s
from queued_attempts
group by all
