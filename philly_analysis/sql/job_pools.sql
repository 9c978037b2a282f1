-- materialized by job_id
-- Which pool of machines may serve each job?
-- One row per job.
--   job_id  identifier of the job
--   pool    pool of machines, as named in the relation pools
select
  jobs.job_id,
  pools.pool
from jobs
inner join pools
  on
    jobs.cluster is not distinct from pools.cluster
    and jobs.pool is not distinct from pools.named
    and jobs.gpu_model is not distinct from pools.gpu_model
