-- How are the readings of allocated GPUs distributed?
-- One row per (user, bin), over GPUs that no other attempt had meanwhile.
--   user     who submitted the job; a job of an unknown user is alone, under its own id
--   bin      utilisation rounded up to whole percent
--   minutes  GPU-minutes with such a reading
select
  coalesce(jobs.user, jobs.job_id) as "user",
  readings.bin,
  sum(readings.minutes) as minutes
from gpu_use_bins as readings
inner join placed_gpus as placed using (placement)
inner join jobs using (job_id)
where readings.bin is not null and placed.attribution = 'gpu_exact'
group by all
order by all
