-- How busy did each job keep its GPUs over all its attempts, by samples?
-- One row per job with a reading of a GPU that no other attempt had at the same time.
--   job_id     identifier of the job
--   minutes    GPU-minutes that have a utilisation reading
--   util_frac  mean utilisation over the GPU-minutes with a reading, 0 to 1
select
  job_id,
  total(minutes) as minutes,
  total(sum_pct) / total(minutes) / 100 as util_frac
from attempt_use
where minutes > 0
group by job_id
