-- How busy did each job keep its GPUs, over all its attempts, as samples show?
-- One row per job with a reading of a GPU that no other attempt had meanwhile.
--   job_id     job
--   minutes    GPU-minutes with a reading
--   util_frac  mean utilisation over them, 0 to 1
select
  job_id,
  sum(minutes) as minutes,
  sum(sum_pct) / sum(minutes) / 100 as util_frac
from attempt_use
where minutes > 0
group by job_id
