-- materialized by job_id
-- What does each job ask of each of its servers, and of how few servers?
-- One row per job that asks for GPUs of a pool with servers.
--   job_id    identifier of the job
--   pool      name of the pool, as in pools
--   gpus      gang size
--   machines  servers that the job asks for; else the fewest that hold the gang; all servers of a
--             pool that is too small
--   cpus      CPU cores per server, rounded down to three binary digits; null: not recorded
--   mem_gb    memory per server, rounded down to three binary digits; null: not recorded
select
  jobs.job_id,
  needs.pool,
  needs.gpus,
  least(greatest(coalesce(jobs.servers, 0), needs.machines), needs.servers) as machines,
  three_digits(jobs.cpus / machines) as cpus,
  three_digits(jobs.mem_gb / machines) as mem_gb
from jobs
inner join job_pools using (job_id)
inner join gang_needs as needs
  on job_pools.pool = needs.pool and jobs.gpus = needs.gpus
where needs.machines is not null
