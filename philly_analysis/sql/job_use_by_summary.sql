-- How busy, and how full, did each job keep its GPUs, by a monitor's summary?
-- One row per job with a summary of its GPUs.
--   job_id        identifier of the job
--   util_frac     mean utilisation of the job's GPUs, 0 to 1; null: not known
--   gpu_mem_frac  highest share of a GPU's memory in use, 0 to 1; null: not known
with summarised as (
  select
    *,
    gpu_mem_used_gb / nullif(gpu_mem_gb, 0) as mem_frac
  from summaries
)

select
  job_id,
  total(util_pct * coalesce(gpus, 1))
  / nullif(total(case when util_pct is not null then coalesce(gpus, 1) end), 0) / 100 as util_frac,
  max(case when mem_frac > 1 then 1 else mem_frac end) as gpu_mem_frac
from summarised
where util_pct is not null or mem_frac is not null
group by job_id
