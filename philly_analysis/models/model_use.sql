-- How busy were the GPUs of each kind of attempt?
-- One row per (gpus, servers, status, bin).
--   gpus     GPUs placed
--   servers  distinct servers
--   status   how the job ended
--   bin      utilisation rounded up to whole percent; 0: idle
--   minutes  GPU-minutes with a reading in the bin
select
  attempt_servers.gpus,
  attempt_servers.servers,
  jobs.status,
  gpu_use_bins.bin,
  total(gpu_use_bins.minutes) as minutes
from gpu_use_bins
inner join placed_gpus using (placement)
inner join attempt_servers using (job_id, attempt)
inner join jobs using (job_id)
where gpu_use_bins.bin is not null and placed_gpus.attribution = 'gpu_exact'
group by all
order by all
