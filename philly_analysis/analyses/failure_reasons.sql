-- Why do attempts fail, after how long, and how much GPU time do they cost?
-- One row per reason, and one over all reasons.
--   reason           reason of the failures; all: every failed attempt whose output is known
--   tier             tiers of the reason, joined by +
--   trials           failed attempts
--   jobs             jobs that the failed attempts belong to
--   users            users of the jobs with failed attempts
--   timed            failed attempts whose run time is known
--   rtf_p50_s        median run time to failure in seconds
--   rtf_p90_s        90th percentile of the run time to failure in seconds
--   rtf_p95_s        95th percentile of the run time to failure in seconds
--   rtf_share_pct    share of the total run time to failure, %
--   gpus_1           failed attempts on 1 GPU
--   gpus_2_4         failed attempts on 2 to 4 GPUs
--   gpus_over_4      failed attempts on more than 4 GPUs
--   gpu_h            GPU hours of the failed attempts: run time to failure times GPUs
--   gpu_h_share_pct  share of the GPU hours of all failed attempts, %
select
  coalesce(reason, 'all') as reason,
  case when grouping(reason) = 0 then max(tier) else '' end as tier,
  count(*) as trials,
  count(distinct job_id) as jobs,
  count(distinct "user") as users,
  count(run_s) as timed,
  quantile_cont(run_s, 0.5) as rtf_p50_s,
  quantile_cont(run_s, 0.9) as rtf_p90_s,
  quantile_cont(run_s, 0.95) as rtf_p95_s,
  -- the largest sum is the sum over all reasons
  100 * total(run_s) / nullif(max(total(run_s)) over (), 0) as rtf_share_pct,
  count(*) filter (demand = '1') as gpus_1,
  count(*) filter (demand = '2-4') as gpus_2_4,
  count(*) filter (demand = '>4') as gpus_over_4,
  total(gpu_h) as gpu_h,
  100 * total(gpu_h) / nullif(max(total(gpu_h)) over (), 0) as gpu_h_share_pct
from failed_attempts
group by grouping sets ((reason), ())
having count(*) > 0
order by all
