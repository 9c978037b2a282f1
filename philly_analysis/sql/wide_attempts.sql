-- On how many servers did each gang run, and on how few could it have?
-- One row per placed attempt on two GPUs or more.
--   job_id   job
--   attempt  which attempt, from 1
--   vc       virtual cluster or partition; (none): not known
--   account  account; (none): not known
--   user     who submitted it
--   gpus     GPUs placed
--   gang     gang-size bucket
--   servers  distinct servers
--   fewest   fewest servers that hold so many GPUs
--   wide     true when it ran on more than the fewest
--   gpu_h    GPU hours allocated to it; null: not known, or its times are not trusted
select
  placed.job_id,
  placed.attempt,
  coalesce(jobs.vc, '(none)') as vc,
  coalesce(jobs.account, '(none)') as account,
  jobs.user,
  placed.gpus,
  gang_bucket(placed.gpus) as gang,
  placed.servers,
  placed.fewest_servers as fewest,
  placed.spread as wide,
  runs.run_s * placed.gpus * jobs.gpu_frac / 3600 as gpu_h
from attempt_servers as placed
inner join gpu_jobs as jobs using (job_id)
left join attempt_runs as runs
  on placed.job_id = runs.job_id and placed.attempt = runs.attempt and runs.flag is null
where placed.gpus > 1
