-- How many GPUs of each server did each attempt hold, and when?
-- One row per attempt and server on which the attempt held GPUs, with a known time.
--   job_id      identifier of the job
--   attempt     number of the attempt within its job, from 1
--   machine_id  identifier of the server
--   vc          virtual cluster; null: not recorded
--   gpus        GPUs of the attempt on all of its servers
--   held_gpus   GPUs of the attempt on this server; null: not known
--   started_at  start of the attempt
--   until_at    end of the attempt; for a running attempt the end of the log
select
  runs.job_id,
  runs.attempt,
  p.machine_id,
  runs.vc,
  runs.gpus,
  held_gpus(p.gpu, p.gpus) as held_gpus,
  runs.started_at,
  runs.until_at
from attempt_runs as runs
inner join placements as p using (job_id, attempt)
where runs.until_at > runs.started_at
group by all
