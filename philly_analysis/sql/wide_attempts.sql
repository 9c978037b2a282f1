-- materialized by job_id
-- On how many servers did each gang run, and how few would have sufficed?
-- One row per placed attempt on two GPUs or more.
--   job_id   identifier of the job
--   attempt  number of the attempt within its job, from 1
--   vc       virtual cluster or partition; (none): not recorded
--   account  account of the job; (none): not recorded
--   user     user who submitted the job
--   gpus     GPUs that the attempt was placed on
--   gang     gang-size bucket
--   servers  distinct servers that the attempt ran on
--   fewest   fewest servers that hold so many GPUs
--   wide     true when the attempt ran on more servers than `fewest`
--   gpu_h    GPU hours allocated to the attempt; null: not known, or the times are not trusted
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
