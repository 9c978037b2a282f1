-- Which jobs make up the workload that models, exports and what-ifs take from this trace?
-- One row per part of the jobs and reason.
--   part   part of the jobs: ended and still running are the workload, left out is excluded
--   why    reason of the exclusion; empty for the workload
--   jobs   jobs
--   gpu_h  GPU hours of all attempts of the jobs with a known run time
select
  case
    when left_out is not null then 'left out'
    when censored then 'still running'
    else 'ended'
  end as part,
  coalesce(left_out, '') as why,
  count(*) as jobs,
  coalesce(total(service_s * gpus * gpu_frac), 0) / 3600 as gpu_h
from workload_jobs
group by all
order by all
