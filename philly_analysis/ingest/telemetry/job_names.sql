-- Which names may the jobs of the job log go by?
-- One row per name and job.
--   name     identifier, identifier that people type, or number
--   job_id   job
--   cluster  cluster that it was submitted to
select distinct
  unnest([
    job_id,
    scheduler_id,
    -- the number alone: without its cluster, and without the submission that tells two lives
    regexp_replace(
      case when starts_with(job_id, cluster || ':') then job_id[len(cluster) + 2:] else job_id end,
      '@.*$', ''
    )
  ]) as name,
  job_id,
  cluster
from jobs
