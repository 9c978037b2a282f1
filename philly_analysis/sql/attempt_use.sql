-- materialized
-- How busy were the GPUs of each attempt, and how complete are their readings?
-- One row per attempt with placements whose start and end are known.
--   job_id          identifier of the job
--   attempt         number of the attempt within its job, from 1
--   vc              virtual cluster
--   user            user who submitted the job
--   status          status with which the job ended; unknown: not recorded
--   gpus            GPUs that the attempt was placed on
--   servers         distinct servers that the attempt ran on
--   fewest_servers  fewest servers of the job's pool that have so many GPUs, if all were empty
--   spread          true when the attempt ran on more servers than `fewest_servers`
--   whole           true when the attempt had every GPU of each of its servers
--   co_tenants      true when another attempt had a GPU on one of the servers at the same time
--   shared_gpus     GPUs that another attempt was allocated at the same time; the minutes and
--                   utilisation exclude these GPUs
--   expected_min    GPU-minutes from start to end of the attempt, which should have readings
--   minutes         GPU-minutes that have a utilisation reading
--   offline_min     GPU-minutes without a reading although the server reported
--   idle_min        GPU-minutes with a reading of exactly 0 %
--   sum_pct         sum of the utilisation readings, in % times minutes
--   mean_pct        mean utilisation of the attempt's GPUs in %; null: no reading
--   coverage        minutes divided by expected_min, 0 to 1; null: no minute is expected
--   flag            flag of the attempt or job: reason for which the times are not trusted
with readings_by_attempt as (
  select
    job_id,
    attempt,
    count(*) filter (where attribution = 'gpu_shared') as shared_gpus,
    sum(expected_min) filter (where attribution = 'gpu_exact') as expected_min,
    total(case when attribution = 'gpu_exact' then minutes end) as minutes,
    total(case when attribution = 'gpu_exact' then offline_min end) as offline_min,
    total(case when attribution = 'gpu_exact' then idle_min end) as idle_min,
    total(case when attribution = 'gpu_exact' then sum_pct end) as sum_pct
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
from readings_by_attempt as u
inner join jobs using (job_id)
inner join attempts as a using (job_id, attempt)
inner join attempt_servers as s using (job_id, attempt)
