-- Which jobs make up the workload that models, exports and what-ifs take from this trace?
-- One row per part of the jobs.
--   part   ended, or still running as the log ended: the workload; left out: the others
--   why    why they are left out; empty for the workload
--   jobs   jobs
--   gpu_h  GPU hours of service that they need, where known: all attempts of a job added up
select
  case
    when left_out is not null then 'left out'
    when censored then 'still running'
    else 'ended'
  end as part,
  coalesce(left_out, '') as why,
  count(*) as jobs,
  coalesce(sum(service_s * gpus * gpu_frac), 0) / 3600 as gpu_h
from workload_jobs
group by all
order by all
