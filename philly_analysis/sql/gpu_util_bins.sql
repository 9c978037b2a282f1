-- materialized
-- How many GPU-minutes of each kind of attempt have each utilisation?
-- One row per (gpus, status, servers, dedicated, bin).
--   gpus       GPUs that the attempt was placed on
--   status     status with which the job ended; unknown: not recorded
--   servers    distinct servers that the attempt ran on
--   dedicated  true when the attempt had every GPU of the fewest servers that hold so many GPUs
--   bin        utilisation in whole percent: 0 is idle, k is above k - 1 and at most k
--   minutes    GPU-minutes of GPUs that no other attempt was allocated at the same time
--   sum_pct    sum of the utilisation readings, in % times minutes
select
  a.gpus,
  a.status,
  a.servers,
  a.dedicated,
  b.bin,
  total(b.minutes) as minutes,
  total(b.sum_pct) as sum_pct
from gpu_use_bins as b
inner join placed_gpus as p using (placement)
inner join sampled_attempts as a using (job_id, attempt)
where b.bin is not null and p.attribution = 'gpu_exact'
group by all
