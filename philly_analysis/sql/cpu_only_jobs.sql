-- Which jobs requested no GPU?
-- One row per job without GPUs. A log of GPU jobs has none, so that an anti join with this relation
-- takes less time than a join with gpu_jobs.
--   job_id  identifier of the job
select job_id
from jobs
where gpus = 0
