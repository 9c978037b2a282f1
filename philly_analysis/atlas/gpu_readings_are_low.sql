-- How are the utilisation readings of allocated GPUs distributed?
-- One row per (user, bin), over GPUs that no other attempt had at the same time.
--   user     user who submitted the job; the job's id where the user is not recorded
--   bin      utilisation rounded up to whole percent
--   minutes  GPU-minutes with a reading in the bin
select
  coalesce(jobs.user, jobs.job_id) as "user",
  readings.bin,
  total(readings.minutes) as minutes
from gpu_use_bins as readings
inner join placed_gpus as placed using (placement)
inner join jobs using (job_id)
where readings.bin is not null and placed.attribution = 'gpu_exact'
group by all
order by all
