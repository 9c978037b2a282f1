-- How many GPUs of each server did each attempt hold, and when?
-- One row per attempt and server that it held GPUs of, for a known time.
--   job_id      job
--   attempt     which attempt, from 1
--   machine_id  server
--   vc          virtual cluster; null: not known
--   gpus        GPUs of the attempt, on all of its servers
--   held_gpus   of them, those on this server; null: not known
--   started_at  when it got them
--   until_at    its end, or the end of the log for one that still ran
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
