-- By which names may labels of telemetry, or names of output files, refer to a job of the log?
-- One row per name and job.
--   name     identifier, scheduler's identifier (task of an array, part of a heterogeneous job), or
--            number of the job
--   job_id   job
--   cluster  cluster that it was submitted to
select distinct
  unnest([
    job_id,
    scheduler_id,
    -- the number alone, without cluster and without the suffix of a repeated number
    regexp_replace(
      case when starts_with(job_id, cluster || ':') then job_id[len(cluster) + 2:] else job_id end,
      '@.*$', ''
    )
  ]) as name,
  job_id,
  cluster
from jobs
