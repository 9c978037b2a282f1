-- materialized
-- How many GPU-minutes of each kind of attempt stand at each utilisation?
-- One row per (gpus, status, servers, dedicated, bin).
--   gpus       GPUs placed
--   status     how the job ended; unknown where the log does not say
--   servers    distinct servers
--   dedicated  true when the attempt had every GPU of each of its servers, and no more servers
--              than its GPUs need
--   bin        utilisation rounded up to whole percent: 0 is idle, k is above k - 1 and up to k
--   minutes    GPU-minutes of GPUs that no other attempt had meanwhile
--   sum_pct    sum of their readings, in % times minutes
select
  a.gpus,
  a.status,
  a.servers,
  a.dedicated,
  b.bin,
  sum(b.minutes) as minutes,
  sum(b.sum_pct) as sum_pct
from gpu_use_bins as b
inner join placed_gpus as p using (placement)
inner join sampled_attempts as a using (job_id, attempt)
where b.bin is not null and p.attribution = 'gpu_exact'
group by all
