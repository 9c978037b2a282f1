-- materialized
-- How busy were the GPUs of each attempt, and how well do we know?
-- One row per attempt with placements whose start and end are known.
--   job_id          job
--   attempt         which attempt, from 1
--   vc              virtual cluster
--   user            who submitted it
--   status          how the job ended; unknown where the log does not say
--   gpus            GPUs placed
--   servers         distinct servers
--   fewest_servers  fewest servers of its pool that hold that many GPUs, were they empty
--   spread          true when it ran on more than the fewest
--   whole           true when it had every GPU of each of its servers
--   co_tenants      true when another attempt had a GPU of one of its servers meanwhile
--   shared_gpus     GPUs that another attempt had too: not in what follows
--   expected_min    GPU-minutes that there should be
--   minutes         GPU-minutes with a reading
--   offline_min     GPU-minutes without: the server reported and the GPU did not
--   idle_min        of the minutes, those at exactly 0 %
--   sum_pct         sum of the readings, in % times minutes
--   mean_pct        their mean; null without a reading
--   coverage        minutes over expected_min, 0 to 1; null when none is expected
--   flag            why its times are not trusted: flag of the attempt or job
with used as (
  select
    job_id,
    attempt,
    count(*) filter (where attribution = 'gpu_shared') as shared_gpus,
    sum(expected_min) filter (where attribution = 'gpu_exact') as expected_min,
    sum(minutes) filter (where attribution = 'gpu_exact') as minutes,
    sum(offline_min) filter (where attribution = 'gpu_exact') as offline_min,
    sum(idle_min) filter (where attribution = 'gpu_exact') as idle_min,
    sum(sum_pct) filter (where attribution = 'gpu_exact') as sum_pct
  from gpu_use
  group by job_id, attempt
)

select
  u.job_id,
  u.attempt,
  jobs.vc,
  jobs.user,
  coalesce(jobs.status, 'unknown') as status,
  s.gpus,
  s.servers,
  s.fewest_servers,
  s.spread,
  s.whole,
  s.co_tenants,
  u.shared_gpus,
  coalesce(u.expected_min, 0) as expected_min,
  coalesce(u.minutes, 0) as minutes,
  coalesce(u.offline_min, 0) as offline_min,
  coalesce(u.idle_min, 0) as idle_min,
  coalesce(u.sum_pct, 0) as sum_pct,
  u.sum_pct / nullif(u.minutes, 0) as mean_pct,
  u.minutes / nullif(u.expected_min, 0) as coverage,
  coalesce(a.flag, jobs.flag) as flag
from used as u
inner join jobs using (job_id)
inner join attempts as a using (job_id, attempt)
inner join attempt_servers as s using (job_id, attempt)
