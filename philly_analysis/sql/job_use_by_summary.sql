-- How busy did each job keep its GPUs, and how full, as a monitor summed it up?
-- One row per job with a summary of its GPUs.
--   job_id        job
--   util_frac     mean utilisation of its GPUs, 0 to 1; null: not told
--   gpu_mem_frac  most of a GPU's memory in use, 0 to 1; null: not told
select
  job_id,
  sum(util_pct * coalesce(gpus, 1))
  / nullif(sum(coalesce(gpus, 1)) filter (where util_pct is not null), 0) / 100 as util_frac,
  max(least(gpu_mem_used_gb / nullif(gpu_mem_gb, 0), 1)) as gpu_mem_frac
from summaries
where util_pct is not null or gpu_mem_used_gb / nullif(gpu_mem_gb, 0) is not null
group by job_id
